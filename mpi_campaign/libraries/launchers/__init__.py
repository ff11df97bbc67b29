"""What starts ranks, one file each: how it is told CPUs, this machine or other nodes, and what it says of itself."""
