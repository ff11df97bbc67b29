"""What a campaign can run: a module per family of benchmarks, the axes that its cases differ in, and one registry."""
