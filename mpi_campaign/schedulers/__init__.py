"""Batch systems, one file each: how jobs are submitted, what a job sees, which variables are theirs."""
