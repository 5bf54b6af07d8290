"""Coding agents, each behind the one port `Agent`."""
