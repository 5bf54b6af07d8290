"""What a transition may ask for, one module per tool."""
