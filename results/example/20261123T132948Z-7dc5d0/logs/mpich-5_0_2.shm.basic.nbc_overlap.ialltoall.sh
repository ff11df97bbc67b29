#!/bin/bash
export PATH=/opt/arch/.campaign/toolchains/mpich-5.0.2/bin:/opt/arch/.venv/bin:$PATH
export MPIR_CVAR_ASYNC_PROGRESS=0
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
mpiexec -n 2 -bind-to core:1 /opt/arch/.campaign/build/mpich-5_0_2-74aec9/nbc_overlap --toolchain mpich@5.0.2 --provider wheels --configuration basic --network shm --threads 1 --metadata metadata.json --collective ialltoall --limit-seconds 133.0 --record record.jsonl --grid smoke --cache warm --computation dgemm --budget-seconds 5.8 --save-sizes sizes.json
