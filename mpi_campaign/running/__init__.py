"""A run: ReFrame's sessions, what became of each case, the record judged."""
