#!/bin/bash
export PATH=/tmp/f2/campaign/.campaign/toolchains/mpich-5.0.2/bin:/tmp/f2/campaign/.venv/bin:$PATH
export MPIR_CVAR_ASYNC_PROGRESS=1
export MPIR_CVAR_NOLOCAL=1
export MPIR_CVAR_CH4_NETMOD=ofi
export FI_PROVIDER=tcp
export UCX_TLS=tcp,self
export UCX_NET_DEVICES=lo
export MPIR_CVAR_PROGRESS_THREAD_AFFINITY=1
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
/tmp/f2/campaign/.venv/bin/python -m mpi_campaign.impact_launches --programs /tmp/f2/campaign/.campaign/build/mpich-5_0_2-07a29c --launcher '/tmp/f2/campaign/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 1 -bind-to core:2' --record record.jsonl --sizes /tmp/f2/campaign/.campaign/sessions/20261124T180346Z-8d4bb0/stage/local/wire/mpich-5_0_2/mpi_impact_basic_c93068a6/sizes.json --limit-seconds 251.0 --budget-seconds 35.3 --comp-times 8000000ns,64000000ns,512000000ns -- --toolchain mpich@5.0.2 --provider wheels --configuration dedicated --network wire:2gbit --threads 1 --metadata metadata.json --dedicated-cpus 1 --computation dgemm
