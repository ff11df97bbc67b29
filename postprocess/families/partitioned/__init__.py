"""Sending parts of a buffer as threads finish them: partitioned communication, and what can be done without it."""
