"""Benchmarks of other projects, shown beside ours."""
