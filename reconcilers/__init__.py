"""Reads the world; never changes it."""
