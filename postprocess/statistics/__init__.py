"""Pure functions on numbers: metrics with their intervals, effects, what counts as a difference."""
