#!/bin/bash
export PATH=/opt/arch/.campaign/toolchains/mpich-5.0.2/bin:/opt/arch/.venv/bin:$PATH
export MPIR_CVAR_ASYNC_PROGRESS=1
export MPIR_CVAR_NOLOCAL=1
export MPIR_CVAR_CH4_NETMOD=ofi
export FI_PROVIDER=tcp
export UCX_TLS=tcp,self
export UCX_NET_DEVICES=lo
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
/opt/arch/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 -bind-to core:1 /opt/arch/.campaign/build/mpich-5_0_2-74aec9/nbc_overlap --toolchain mpich@5.0.2 --provider wheels --configuration async --network wire:2gbit --threads 1 --metadata metadata.json --collective bcast_init --limit-seconds 136.0 --record record.jsonl --grid smoke --cache warm --computation dgemm --settle 322400ns --budget-seconds 6.5 --sizes /opt/arch/.campaign/sessions/20261123T133822Z-d1fd05/stage/local/wire/mpich-5_0_2/nbc_overlap_basic_6f0511bb/sizes.json
