"""Runs that were archived: their folders, their references, what they are turned into."""
