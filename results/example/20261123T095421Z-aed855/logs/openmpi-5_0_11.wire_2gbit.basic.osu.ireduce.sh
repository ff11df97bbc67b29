#!/bin/bash
export PATH=/opt/fresh/.campaign/toolchains/openmpi-5.0.11/bin:/opt/fresh/.venv/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_tcp_progress_thread=0
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
export LD_LIBRARY_PATH=/opt/fresh/.campaign/toolchains/openmpi-5.0.11/lib
/opt/fresh/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 --map-by slot:PE=1 --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo /opt/osu-openmpi-5.0.11/libexec/osu-micro-benchmarks/mpi/collective/osu_ireduce -m 2040192:2040192 -M 536870912 -i 59 -x 10
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 2040192 bytes ended with exit code $code\n"
mv wire.json 0.wire.json
/opt/fresh/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 --map-by slot:PE=1 --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo /opt/osu-openmpi-5.0.11/libexec/osu-micro-benchmarks/mpi/collective/osu_ireduce -m 4080832:4080832 -M 536870912 -i 24 -x 10
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 4080832 bytes ended with exit code $code\n"
mv wire.json 1.wire.json
/opt/fresh/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 --map-by slot:PE=1 --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo /opt/osu-openmpi-5.0.11/libexec/osu-micro-benchmarks/mpi/collective/osu_ireduce -m 8017472:8017472 -M 536870912 -i 10 -x 10
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 8017472 bytes ended with exit code $code\n"
mv wire.json 2.wire.json
exit ${died:-0}
