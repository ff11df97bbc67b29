#!/bin/bash
export PATH=./.campaign/toolchains/mpich-5.0.2/bin:./.venv/bin:$PATH
export MPIR_CVAR_NOLOCAL=1
export MPIR_CVAR_CH4_NETMOD=ofi
export FI_PROVIDER=tcp
export UCX_TLS=tcp,self
export UCX_NET_DEVICES=lo
export MPIR_CVAR_ASYNC_PROGRESS=1
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
./.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 -bind-to core:1 ./.campaign/build/mpich-5_0_2-e590a0/nbc_overlap --toolchain mpich@5.0.2 --provider wheels --configuration async --network wire:2gbit --threads 1 --collective ialltoall --record record.jsonl --metadata metadata.json --grid smoke --budget-seconds 12.5 --sizes ./.campaign/sessions/20261121T025029Z-1d2300/stage/local/wire/mpich-5_0_2/nbc_overlap_basic_14093760/sizes.json
