"""What is known of each family of benchmarks. One folder per family; no family imports another."""
