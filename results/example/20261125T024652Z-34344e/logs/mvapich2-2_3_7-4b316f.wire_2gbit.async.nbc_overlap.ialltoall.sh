#!/bin/bash
export PATH=/opt/mvapich2/bin:/campaign/.venv/bin:$PATH
export MV2_ENABLE_AFFINITY=0
export MV2_USE_THREAD_WARNING=0
export MV2_ASYNC_PROGRESS=1
export MPICH_ASYNC_PROGRESS=1
export MV2_USE_SHARED_MEM=0
export MPIR_CVAR_NEMESIS_NETMOD=tcp
export MPIR_CVAR_NOLOCAL=1
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
unset OMP_PROC_BIND OMP_PLACES GOMP_CPU_AFFINITY KMP_AFFINITY
/campaign/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 -bind-to core:1 /campaign/.campaign/build/mvapich2-2_3_7-4b316f-5e5452/nbc_overlap --toolchain mvapich2@2.3.7 --provider prefix --configuration async --network wire:2gbit --threads 1 --metadata metadata.json --collective ialltoall --limit-seconds 190.0 --record record.jsonl --grid smoke --cache warm --computation dgemm --settle 322400ns --budget-seconds 20.0 --sizes /campaign/.campaign/sessions/20261125T024652Z-34344e/stage/local/wire/mvapich2-2_3_7-4b316f/nbc_overlap_basic_5d650b4a/sizes.json
