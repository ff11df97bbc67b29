#!/bin/bash
export PATH=/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/bin:/opt/mpi-overlap/.venv/bin:$PATH
export I_MPI_ROOT=/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1
export LD_LIBRARY_PATH=/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/lib:/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/lib/release:/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/opt/mpi/libfabric/lib:/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/libfabric/lib
export I_MPI_ASYNC_PROGRESS=1
export I_MPI_PIN_CELL=core
export I_MPI_PIN_DOMAIN=1:compact
export I_MPI_FABRICS=ofi
export FI_PROVIDER=tcp
export FI_PROVIDER_PATH=/opt/mpi-overlap/.campaign/toolchains/intel-2021.18.1/lib
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
/opt/mpi-overlap/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/mpi-overlap/.campaign/build/intel-2021_18_1-071b8a/nbc_overlap --toolchain intel@2021.18.1 --provider wheels --configuration async --network wire:2gbit --threads 1 --metadata metadata.json --collective iallgather --limit-seconds 358.0 --record record.jsonl --grid nightly --cache warm --computation dgemm --settle 322400ns --budget-seconds 62.0 --sizes /opt/mpi-overlap/.campaign/sessions/20261122T222051Z-34e0f0/stage/local/wire/intel-2021_18_1/nbc_overlap_basic_3e43e762/sizes.json
