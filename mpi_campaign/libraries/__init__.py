"""Settings of each MPI library and each launcher, one file each; placements of ranks; how a launch is put together."""
