"""Pi as a one-shot process: the adapter, what it writes for Pi, and the extension that Pi loads."""
