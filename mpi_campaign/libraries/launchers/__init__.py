"""Launchers of ranks, one file each: options for CPUs, this machine and other nodes, and how each is recognized."""
