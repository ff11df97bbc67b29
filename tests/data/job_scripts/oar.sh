#!/bin/bash
#OAR -n "rfm_batch_job_88eb4e3a"
#OAR -O rfm_job.out
#OAR -E rfm_job.err
#OAR -l /host=4/core=64,walltime=2:0:0
#OAR -q cpu
#OAR --project='me & you'
#OAR --qos=long
cd CLONE/.campaign/sessions/RUN/jobs/1 || exit 1
printf "job=%s\nhost=%s\nhosts=%s\nstarted_utc=%s\n" "${OAR_JOB_ID:-}" "$(uname -n)" "$(cut -d " " -f 1 "${OAR_NODEFILE:-/dev/null}" | sort -u | paste -s -d ,)" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" > script.txt
trap 'kill $! 2> /dev/null' INT TERM HUP QUIT USR1 USR2 XCPU ALRM VTALRM PROF PWR IO ABRT
trap 'printf "exit_code=%s\nended_utc=%s\n" "$?" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >> script.txt' EXIT
export MPI_CAMPAIGN_LET_IN='{"UCX_TLS": "rc,$(date)"}'
export PYTHONPATH=CLONE
PYTHON -m mpi_campaign.running.in_job job.json &
wait $!; code=$?
while kill -0 $! 2> /dev/null; do wait $!; code=$?; done  # a signal ends `wait`
exit $code
