"""What each MPI library needs, and whose launcher one is."""
