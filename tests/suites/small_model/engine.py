"""Serves the small model on loopback, in the environment of requirements.txt: `engine.py MODEL`, prints its address."""

from __future__ import annotations

import sys
import time

import xllamacpp


def main(model: str) -> None:
    """Runs until it is ended."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = 8192
    params.n_parallel = 1
    params.cpuparams.n_threads = 1  # more wait for one another wherever the cores are shared
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main(sys.argv[1])
