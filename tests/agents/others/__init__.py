"""The CLIs behind the kinds gemini, opencode and qwen: installed by `scripts/presets`, recorded here."""
