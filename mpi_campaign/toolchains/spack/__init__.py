"""The provider `spack`: MPI libraries and benchmarks built from the matrix of spack.yaml, each with its lock.

tool.py         finds Spack, or clones it, and runs it so that nothing of the user's is touched
matrix.py       what spack.yaml and a system's definitions.yaml ask for
environment.py  one Spack environment per toolchain: made from spack.yaml, concretized once, its lock kept
describe.py     what Spack knows of an environment, said as JSON; run by `spack python`
provider.py     a toolchain of all that
"""
