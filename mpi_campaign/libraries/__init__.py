"""What each MPI library and each launcher needs, one file each; placements, and what a launch is made of."""
