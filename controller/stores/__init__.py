"""Where run records live."""
