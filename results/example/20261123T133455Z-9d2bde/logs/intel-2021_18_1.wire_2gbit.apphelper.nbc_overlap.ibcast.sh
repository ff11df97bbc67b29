#!/bin/bash
export PATH=/opt/arch/.campaign/toolchains/intel-2021.18.1/bin:/opt/arch/.venv/bin:$PATH
export I_MPI_ROOT=/opt/arch/.campaign/toolchains/intel-2021.18.1
export LD_LIBRARY_PATH=/opt/arch/.campaign/toolchains/intel-2021.18.1/lib:/opt/arch/.campaign/toolchains/intel-2021.18.1/lib/release:/opt/arch/.campaign/toolchains/intel-2021.18.1/opt/mpi/libfabric/lib:/opt/arch/.campaign/toolchains/intel-2021.18.1/libfabric/lib
export I_MPI_ASYNC_PROGRESS=0
export I_MPI_PIN_CELL=core
export I_MPI_PIN_DOMAIN=1:compact
export I_MPI_FABRICS=ofi
export FI_PROVIDER=tcp
export FI_PROVIDER_PATH=/opt/arch/.campaign/toolchains/intel-2021.18.1/lib
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
/opt/arch/.venv/bin/python -m mpi_campaign.wire --rate 2gbit --report wire.json -- mpiexec -n 2 /opt/arch/.campaign/build/intel-2021_18_1-97c3ed/nbc_overlap --toolchain intel@2021.18.1 --provider wheels --configuration apphelper --network wire:2gbit --threads 1 --metadata metadata.json --dedicated-cpus 0,1 --collective ibcast --limit-seconds 137.0 --record record.jsonl --grid smoke --cache warm --computation dgemm --settle 322400ns --budget-seconds 6.7 --sizes /opt/arch/.campaign/sessions/20261123T133455Z-9d2bde/stage/local/wire/intel-2021_18_1/nbc_overlap_basic_35c02085/sizes.json
