#!/bin/bash
#SBATCH --job-name="rfm_batch_job_88eb4e3a"
#SBATCH --ntasks=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=128
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=2:0:0
#SBATCH --exclusive
#SBATCH --partition=cpu
#SBATCH --account='me & you'
#SBATCH --qos=long
cd CLONE/.campaign/sessions/RUN/jobs/1 || exit 1
printf "job=%s\nhost=%s\nhosts=%s\nstarted_utc=%s\n" "${SLURM_JOB_ID:-}" "$(uname -n)" "${SLURM_JOB_NODELIST:-}" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" > script.txt
trap 'kill $! 2> /dev/null' INT TERM HUP QUIT USR1 USR2 XCPU ALRM VTALRM PROF PWR IO ABRT
trap 'printf "exit_code=%s\nended_utc=%s\n" "$?" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >> script.txt' EXIT
export MPI_CAMPAIGN_LET_IN='{"UCX_TLS": "rc,$(date)"}'
export PYTHONPATH=CLONE
PYTHON -m mpi_campaign.running.in_job job.json &
wait $!; code=$?
while kill -0 $! 2> /dev/null; do wait $!; code=$?; done  # a signal ends `wait`
exit $code
