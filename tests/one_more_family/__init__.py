"""A family of benchmarks that only a test has: `tests/test_families.py` puts it into a copy of the project."""
