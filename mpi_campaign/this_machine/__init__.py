"""The machine that this process runs on, and what it may use of it."""
