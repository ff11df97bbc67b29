"""MPI libraries and the programs built with them: found, installed, built, remembered."""
