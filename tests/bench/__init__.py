"""Benchmarks: `scripts/bench NAME`. Progress on stderr, one JSON line on stdout."""
