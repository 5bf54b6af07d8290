"""The conformance suite: on every real binary, and on agents that break one promise each."""
