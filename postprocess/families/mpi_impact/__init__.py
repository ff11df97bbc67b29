"""What an idle MPI library costs a computation."""
