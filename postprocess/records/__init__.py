"""Record files, run folders and what they say, read with care."""
