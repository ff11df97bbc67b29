"""What a blocking collective costs the CPU (Hoefler et al. 2006, section 3)."""
