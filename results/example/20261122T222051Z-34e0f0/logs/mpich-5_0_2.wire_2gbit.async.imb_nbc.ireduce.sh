#!/bin/bash
export PATH=/opt/mpi-overlap/.campaign/toolchains/mpich-5.0.2/bin:/opt/mpi-overlap/.venv/bin:$PATH
export MPIR_CVAR_ASYNC_PROGRESS=1
export MPIR_CVAR_NOLOCAL=1
export MPIR_CVAR_CH4_NETMOD=ofi
export FI_PROVIDER=tcp
export UCX_TLS=tcp,self
export UCX_NET_DEVICES=lo
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
export LD_LIBRARY_PATH=/opt/mpi-overlap/.campaign/toolchains/mpich-5.0.2/lib
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 -bind-to core:1 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 211520.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Ireduce
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 211520 bytes ended with exit code $code\n"
mv wire.json 0.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 -bind-to core:1 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 281408.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Ireduce
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 281408 bytes ended with exit code $code\n"
mv wire.json 1.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 -bind-to core:1 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 407872.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Ireduce
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 407872 bytes ended with exit code $code\n"
mv wire.json 2.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 -bind-to core:1 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 1365504.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Ireduce
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 1365504 bytes ended with exit code $code\n"
mv wire.json 3.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 -bind-to core:1 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 2624192.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Ireduce
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 2624192 bytes ended with exit code $code\n"
mv wire.json 4.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 -bind-to core:1 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 5135104.lengths.txt -msglog 23 -iter 1000,1000000 -time 0.65 Ireduce
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 5135104 bytes ended with exit code $code\n"
mv wire.json 5.wire.json
exit ${died:-0}
