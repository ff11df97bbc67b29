"""The families of benchmarks. Each has a folder of its own and imports no other family."""
