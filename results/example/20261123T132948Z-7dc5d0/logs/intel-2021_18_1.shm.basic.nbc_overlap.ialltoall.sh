#!/bin/bash
export PATH=/opt/arch/.campaign/toolchains/intel-2021.18.1/bin:/opt/arch/.venv/bin:$PATH
export I_MPI_ROOT=/opt/arch/.campaign/toolchains/intel-2021.18.1
export LD_LIBRARY_PATH=/opt/arch/.campaign/toolchains/intel-2021.18.1/lib:/opt/arch/.campaign/toolchains/intel-2021.18.1/lib/release:/opt/arch/.campaign/toolchains/intel-2021.18.1/opt/mpi/libfabric/lib:/opt/arch/.campaign/toolchains/intel-2021.18.1/libfabric/lib
export I_MPI_ASYNC_PROGRESS=0
export I_MPI_PIN_CELL=core
export I_MPI_PIN_DOMAIN=1:compact
export I_MPI_FABRICS=shm
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
mpiexec -n 2 /opt/arch/.campaign/build/intel-2021_18_1-97c3ed/nbc_overlap --toolchain intel@2021.18.1 --provider wheels --configuration basic --network shm --threads 1 --metadata metadata.json --collective ialltoall --limit-seconds 133.0 --record record.jsonl --grid smoke --cache warm --computation dgemm --budget-seconds 5.8 --save-sizes sizes.json
