"""Whether a call of an MPI library is slower than others that do the same."""
