#!/bin/bash
#PBS -N rfm_batch_job_8
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=2:0:0
#PBS -l select=4:mpiprocs=1:ncpus=128
#PBS -q cpu
#PBS -l place=scatter:excl
#PBS -A 'me & you'
#PBS --qos=long
cd CLONE/.campaign/sessions/RUN/submit/stage/cluster/pbspro/builtin/batch_job_88eb4e3a
cd CLONE/.campaign/sessions/RUN/jobs/1 || exit 1
printf "job=%s\nhost=%s\nhosts=%s\nstarted_utc=%s\n" "${PBS_JOBID:-}" "$(uname -n)" "$(cut -d " " -f 1 "${PBS_NODEFILE:-/dev/null}" | sort -u | paste -s -d ,)" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" > script.txt
trap 'kill $! 2> /dev/null' INT TERM HUP QUIT USR1 USR2 XCPU ALRM VTALRM PROF PWR IO ABRT
trap 'printf "exit_code=%s\nended_utc=%s\n" "$?" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >> script.txt' EXIT
export MPI_CAMPAIGN_LET_IN='{"UCX_TLS": "rc,$(date)"}'
export PYTHONPATH=CLONE
PYTHON -m mpi_campaign.running.in_job job.json &
wait $!; code=$?
while kill -0 $! 2> /dev/null; do wait $!; code=$?; done  # a signal ends `wait`
exit $code
