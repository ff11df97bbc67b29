#!/bin/bash
export PATH=/opt/fresh/.campaign/toolchains/mpich-5.0.2/bin:/opt/fresh/.venv/bin:$PATH
export MPIR_CVAR_ASYNC_PROGRESS=0
export MPIR_CVAR_NOLOCAL=1
export MPIR_CVAR_CH4_NETMOD=ofi
export FI_PROVIDER=tcp
export UCX_TLS=tcp,self
export UCX_NET_DEVICES=lo
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
export LD_LIBRARY_PATH=/opt/fresh/.campaign/toolchains/mpich-5.0.2/lib
/opt/fresh/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 -bind-to core:1 /opt/osu-mpich-5.0.2/libexec/osu-micro-benchmarks/mpi/collective/osu_ibcast -m 2046464:2046464 -M 536870912 -i 59 -x 10
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 2046464 bytes ended with exit code $code\n"
mv wire.json 0.wire.json
/opt/fresh/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 -bind-to core:1 /opt/osu-mpich-5.0.2/libexec/osu-micro-benchmarks/mpi/collective/osu_ibcast -m 4089536:4089536 -M 536870912 -i 24 -x 10
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 4089536 bytes ended with exit code $code\n"
mv wire.json 1.wire.json
/opt/fresh/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 -bind-to core:1 /opt/osu-mpich-5.0.2/libexec/osu-micro-benchmarks/mpi/collective/osu_ibcast -m 8050368:8050368 -M 536870912 -i 10 -x 10
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 8050368 bytes ended with exit code $code\n"
mv wire.json 2.wire.json
exit ${died:-0}
