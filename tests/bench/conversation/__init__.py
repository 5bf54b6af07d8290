"""What a conversation that goes on costs beside a fresh process a step, on the wire, with the real agent CLIs."""
