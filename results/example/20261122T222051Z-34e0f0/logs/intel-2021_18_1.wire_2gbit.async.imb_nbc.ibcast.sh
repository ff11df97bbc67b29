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
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 316672.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Ibcast
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 316672 bytes ended with exit code $code\n"
mv wire.json 0.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 566720.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Ibcast
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 566720 bytes ended with exit code $code\n"
mv wire.json 1.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 1056576.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Ibcast
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 1056576 bytes ended with exit code $code\n"
mv wire.json 2.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 2047040.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Ibcast
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 2047040 bytes ended with exit code $code\n"
mv wire.json 3.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 4098688.lengths.txt -msglog 22 -iter 1000,1000000 -time 0.65 Ibcast
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 4098688 bytes ended with exit code $code\n"
mv wire.json 4.wire.json
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin/IMB-NBC -npmin 2 -msglen 8062720.lengths.txt -msglog 23 -iter 1000,1000000 -time 0.65 Ibcast
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 8062720 bytes ended with exit code $code\n"
mv wire.json 5.wire.json
exit ${died:-0}
