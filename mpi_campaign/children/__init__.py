"""Other people's programs that we start: their environment, how to ask them, and why they failed."""
