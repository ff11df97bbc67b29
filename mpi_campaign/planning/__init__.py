"""What a run is asked to do, and what of it can be."""
