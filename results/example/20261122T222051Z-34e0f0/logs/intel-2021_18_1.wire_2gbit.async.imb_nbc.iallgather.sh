#!/bin/bash
export PATH=/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin:/opt/mpi-overlap/.venv/bin:$PATH
export I_MPI_ROOT=/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1
export LD_LIBRARY_PATH=/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/lib:/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/lib:/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/lib/release:/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/opt/mpi/libfabric/lib:/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/libfabric/lib
export I_MPI_ASYNC_PROGRESS=1
export I_MPI_PIN_CELL=core
export I_MPI_PIN_DOMAIN=1:compact
export I_MPI_FABRICS=ofi
export FI_PROVIDER=tcp
export FI_PROVIDER_PATH=/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/lib
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 158400.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Iallgather
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 158400 bytes ended with exit code $code\n"
mv wire.json 0.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 281024.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Iallgather
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 281024 bytes ended with exit code $code\n"
mv wire.json 1.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 520960.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Iallgather
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 520960 bytes ended with exit code $code\n"
mv wire.json 2.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 1007296.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Iallgather
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 1007296 bytes ended with exit code $code\n"
mv wire.json 3.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 2008512.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Iallgather
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 2008512 bytes ended with exit code $code\n"
mv wire.json 4.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 3952064.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Iallgather
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 3952064 bytes ended with exit code $code\n"
mv wire.json 5.wire.json
exit ${died:-0}
