"""What acts on a Git remote and on the forge around it."""
