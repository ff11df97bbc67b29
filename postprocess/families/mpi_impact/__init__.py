"""The cost of an idle MPI library for a computation."""
