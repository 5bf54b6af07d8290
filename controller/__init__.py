"""Decides: the step, its verbs, the stores, the command line."""
