"""Rules for every process of this project: signals, streams, locks, progress messages, the end of child processes."""
