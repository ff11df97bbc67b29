"""The machine that this process runs on, and the limits of the process there."""
