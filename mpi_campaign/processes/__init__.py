"""What every process of ours keeps to: signals, streams, locks, words on progress, and an end for all it starts."""
