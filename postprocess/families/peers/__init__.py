"""Other benchmarks beside ours."""
