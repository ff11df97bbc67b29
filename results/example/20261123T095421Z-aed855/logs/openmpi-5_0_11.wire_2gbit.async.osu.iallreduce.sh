#!/bin/bash
export PATH=/opt/fresh/.campaign/toolchains/openmpi-5.0.11/bin:/opt/fresh/.venv/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_tcp_progress_thread=1
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
export LD_LIBRARY_PATH=/opt/fresh/.campaign/toolchains/openmpi-5.0.11/lib
/opt/fresh/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 --map-by slot:PE=1 --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo /opt/osu-openmpi-5.0.11/libexec/osu-micro-benchmarks/mpi/collective/osu_iallreduce -m 1019008:1019008 -M 536870912 -i 59 -x 10
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 1019008 bytes ended with exit code $code\n"
mv wire.json 0.wire.json
/opt/fresh/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 --map-by slot:PE=1 --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo /opt/osu-openmpi-5.0.11/libexec/osu-micro-benchmarks/mpi/collective/osu_iallreduce -m 2039040:2039040 -M 536870912 -i 24 -x 10
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 2039040 bytes ended with exit code $code\n"
mv wire.json 1.wire.json
/opt/fresh/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 --map-by slot:PE=1 --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo /opt/osu-openmpi-5.0.11/libexec/osu-micro-benchmarks/mpi/collective/osu_iallreduce -m 4002944:4002944 -M 536870912 -i 10 -x 10
code=$?; [ "$code" = 0 ] || died=$code; printf "\ncampaign: the launch of 4002944 bytes ended with exit code $code\n"
mv wire.json 2.wire.json
exit ${died:-0}
