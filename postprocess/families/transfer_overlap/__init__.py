"""Programming an iterative solver for overlap: whether it pays, and how much it can."""
