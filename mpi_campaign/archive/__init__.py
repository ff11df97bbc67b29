"""Archived runs: their folders, their references, and the tables and reports that are made from them."""
