#!/bin/bash
export PATH=/opt/fresh/.campaign/toolchains/openmpi-5.0.11/bin:/opt/fresh/.venv/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_tcp_progress_thread=1
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
/opt/fresh/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 --map-by slot:PE=1 --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo /opt/fresh/.campaign/build/openmpi-5_0_11-c74f8f/nbc_overlap --toolchain openmpi@5.0.11 --provider wheels --configuration async --network wire:2gbit --threads 1 --metadata metadata.json --collective ialltoallv --limit-seconds 126.0 --record record.jsonl --grid smoke --cache warm --computation dgemm --settle 322400ns --budget-seconds 4.0 --sizes /opt/fresh/.campaign/sessions/20261123T100458Z-877cf1/stage/local/wire/openmpi-5_0_11/nbc_overlap_basic_aa36aa26/sizes.json
