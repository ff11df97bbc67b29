#!/bin/bash
export PATH=/tmp/f2/campaign/.campaign/toolchains/intel-2021.18.1/bin:/tmp/f2/campaign/.venv/bin:$PATH
export I_MPI_ROOT=/tmp/f2/campaign/.campaign/toolchains/intel-2021.18.1
export LD_LIBRARY_PATH=/tmp/f2/campaign/.campaign/toolchains/intel-2021.18.1/lib:/tmp/f2/campaign/.campaign/toolchains/intel-2021.18.1/lib/release:/tmp/f2/campaign/.campaign/toolchains/intel-2021.18.1/opt/mpi/libfabric/lib:/tmp/f2/campaign/.campaign/toolchains/intel-2021.18.1/libfabric/lib
export I_MPI_ASYNC_PROGRESS=1
export I_MPI_PIN_CELL=core
export I_MPI_PIN_DOMAIN=2:compact
export I_MPI_FABRICS=ofi
export FI_PROVIDER=tcp
export FI_PROVIDER_PATH=/tmp/f2/campaign/.campaign/toolchains/intel-2021.18.1/lib
export OMP_NUM_THREADS=2
export OPENBLAS_NUM_THREADS=1
/tmp/f2/campaign/.venv/bin/python -m mpi_campaign.impact_launches --programs /tmp/f2/campaign/.campaign/build/intel-2021_18_1-004bef --launcher '/tmp/f2/campaign/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 1' --record record.jsonl --sizes /tmp/f2/campaign/.campaign/sessions/20261124T180346Z-8d4bb0/stage/local/wire/intel-2021_18_1/mpi_impact_basic_70020b8f/sizes.json --limit-seconds 251.0 --budget-seconds 35.3 --comp-times 8000000ns,64000000ns,512000000ns -- --toolchain intel@2021.18.1 --provider wheels --configuration async --network wire:2gbit --threads 2 --metadata metadata.json --computation dgemm
