"""Launches of many runs held against each other, over time, and against criteria."""
