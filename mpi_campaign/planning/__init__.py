"""What a run is asked to measure, and which of that can be measured."""
