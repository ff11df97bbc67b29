"""Collectives that keep one copy of the data per node (Zhou et al. 2020), against those of the MPI library."""
