"""Overlap of nonblocking collectives: points, validity, diagnosis, maps, curves, tables."""
