"""An adapter of τ²-bench: its tools through the real step, scored by itself. It tests adapter and runtime alone."""
