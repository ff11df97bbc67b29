"""The commands `doctor` and `figures`: what the machine lacks, what disturbs it, how precise measurements are."""
