#!/bin/bash
export PATH=/CLONE/.campaign/toolchains/mpich-5.0.2/bin:/CLONE/.venv/bin:$PATH
builtin unset -f $(builtin compgen -A function)
for name in $(compgen -e); do case "$name" in PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TZ|LANG|LANGUAGE|LC_*|TERM|COLUMNS|LINES|NO_COLOR|CI) ;; *) unset "$name" 2>/dev/null ;; esac; done
export HOME=/CLONE/.campaign/home
export MPIR_CVAR_ASYNC_PROGRESS=0
export HYDRA_CONFIG_FILE=/dev/null
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
mpiexec -n 8 -launcher fork -rmk user -iface lo -bind-to none /CLONE/.campaign/build/mpich-5_0_2-f27907/hybrid_kernels --toolchain mpich@5.0.2 --provider wheels --configuration basic --network shm --threads 1 --metadata metadata.json --record-environment 'MPICH_*,MPIR_*,FI_*,UCX_*,PSM2_*' --record-controls 'MPIR_CVAR_CH4_NETMOD,MPIR_CVAR_CH4_SHM,MPIR_CVAR_NOLOCAL,MPIR_CVAR_ODD_EVEN_CLIQUES,MPIR_CVAR_OFI_USE_PROVIDER,MPIR_CVAR_ASYNC_PROGRESS,MPIR_CVAR_PROGRESS_THREAD_AFFINITY,MPIR_CVAR_NUM_CLIQUES,MPIR_CVAR_CH4_NUM_VCIS,MPIR_CVAR_CH4_RESERVE_VCIS,MPIR_CVAR_CH4_GLOBAL_PROGRESS,MPIR_CVAR_PROGRESS_MAX_*,MPIR_CVAR_*_POSIX_INTRA_ALGORITHM,MPIR_CVAR_COLLECTIVE_FALLBACK,MPIR_CVAR_CH4_CMA_ENABLE,MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE,MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS,MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD' --method campaign --limit-seconds 123.0 --record record.jsonl --grid smoke --summa-order 1024 --poisson-rows 256 --bpmf-items 4000 --start barrier --budget-seconds 3.2
