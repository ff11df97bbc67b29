#!/bin/bash
export PATH=/CLONE/.campaign/toolchains/intel-2021.18.1/bin:/CLONE/.venv/bin:$PATH
builtin unset -f $(builtin compgen -A function)
for name in $(compgen -e); do case "$name" in PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TZ|LANG|LANGUAGE|LC_*|TERM|COLUMNS|LINES|NO_COLOR|CI) ;; *) unset "$name" 2>/dev/null ;; esac; done
export HOME=/CLONE/.campaign/home
export I_MPI_ROOT=/CLONE/.campaign/toolchains/intel-2021.18.1
export LD_LIBRARY_PATH=/CLONE/.campaign/toolchains/intel-2021.18.1/lib:/CLONE/.campaign/toolchains/intel-2021.18.1/lib/release:/CLONE/.campaign/toolchains/intel-2021.18.1/opt/mpi/libfabric/lib:/CLONE/.campaign/toolchains/intel-2021.18.1/libfabric/lib
export I_MPI_ASYNC_PROGRESS=1
export I_MPI_PIN_DOMAIN='[0x1,0x2]'
export I_MPI_FABRICS=shm
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
mpiexec -n 2 -bootstrap fork -rmk user -iface lo /CLONE/.campaign/build/intel-2021_18_1-746696/sync_overlap --toolchain intel@2021.18.1 --provider wheels --configuration async --network shm --threads 1 --metadata metadata.json --record-environment 'I_MPI_*,MPICH_*,MPIR_*,FI_*,UCX_*,PSM2_*,^I_MPI_HYDRA_*,^I_MPI_MPIRUN*,^I_MPI_ROOT*,^I_MPI_INFO_*,^I_MPI_INTERNAL_*' --record-controls 'I_MPI_FABRICS,I_MPI_OFI_PROVIDER,I_MPI_ASYNC_PROGRESS*,I_MPI_SHM,I_MPI_SHM_CMA,MPIR_CVAR_CH4_NETMOD,MPIR_CVAR_CH4_SHM,MPIR_CVAR_NOLOCAL,MPIR_CVAR_ODD_EVEN_CLIQUES,MPIR_CVAR_OFI_USE_PROVIDER,MPIR_CVAR_ASYNC_PROGRESS,MPIR_CVAR_PROGRESS_THREAD_AFFINITY,MPIR_CVAR_NUM_CLIQUES,MPIR_CVAR_CH4_NUM_VCIS,MPIR_CVAR_CH4_RESERVE_VCIS,MPIR_CVAR_CH4_GLOBAL_PROGRESS,MPIR_CVAR_PROGRESS_MAX_*,MPIR_CVAR_CH4_CMA_ENABLE,MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE,MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD' --send late --protocol default --limit-seconds 126.0 --record record.jsonl --grid smoke --budget-seconds 4.0
