"""Scheduled CI: what a job is told, the action at the root, the examples."""
