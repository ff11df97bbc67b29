# Grid Engine on the nodes of a cluster in a box, then a command on its head node:
#
#     ./campaign cluster --nodes 2 -- sh tests/grid_engine.sh COMMAND...
#
# The queue all.q has one slot on each node, and the parallel environment mpi gives a job slots of as many nodes as it
# needs. All its files are in the memory of the cluster. It takes Debian's packages gridengine-master, gridengine-exec
# and gridengine-client.
set -eu

programs=/usr/lib/gridengine
resources=/usr/share/gridengine
export SGE_ROOT=/run/cluster/grid-engine SGE_CELL=default SGE_QMASTER_PORT=6444 SGE_EXECD_PORT=6445
export PATH="$programs:$PATH"
common=$SGE_ROOT/$SGE_CELL/common
spool=$SGE_ROOT/spool
nodes=$(echo "$MPI_CAMPAIGN_NODES" | tr , '\n' | cut -d = -f 1 | grep -v '^node0$')

mkdir -p "$common" "$spool/qmaster/job_scripts" "$spool/execd" "$SGE_ROOT/bin" "$SGE_ROOT/lib" "$SGE_ROOT/utilbin"
for folder in bin lib utilbin; do
    ln -s "$programs" "$SGE_ROOT/$folder/$("$resources/util/arch")"
done
ln -s "$resources/util" "$SGE_ROOT/util"
cat >"$common/bootstrap" <<END
admin_user none
default_domain none
ignore_fqdn true
spooling_method classic
spooling_lib libspoolc
spooling_params $common;$spool/qmaster
binary_path $SGE_ROOT/bin
qmaster_spool_dir $spool/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
END
echo node0 >"$common/act_qmaster"

# As Debian's package does it; jobs of root are allowed, and nobody gets mail.
sed "s|^execd_spool_dir .*|execd_spool_dir $spool/execd|; s|^min_\([ug]\)id .*|min_\1id 0|; s|^mailer .*|mailer /bin/true|
     s|^load_report_time .*|load_report_time 00:00:02|; s|^enforce_user .*|enforce_user none|" \
    "$resources/default-configuration" >"$SGE_ROOT/configuration"
{
    export LD_LIBRARY_PATH=$programs
    spoolinit classic libspoolc "$common;$spool/qmaster" init
    spooldefaults.bin configuration "$SGE_ROOT/configuration"
    spooldefaults.bin complexes "$resources/util/resources/centry"
    spooldefaults.bin usersets "$resources/util/resources/usersets"
    spooldefaults.bin managers "$(id --user --name)"
    sge_qmaster
    unset LD_LIBRARY_PATH
    for _ in $(seq 100); do
        qconf -sh >/dev/null 2>&1 && break
        sleep 0.1
    done
    qconf -as node0
    for node in $nodes; do
        qconf -ah "$node"
        printf '%s NONE\n' load_scaling complex_values user_lists xuser_lists projects xprojects usage_scaling \
            report_variables | cat - >"$SGE_ROOT/$node"
        echo "hostname $node" >>"$SGE_ROOT/$node"
        qconf -Ae "$SGE_ROOT/$node"
        "$MPI_CAMPAIGN_NODE_AGENT" "$node" sge_execd
    done
    cat >"$SGE_ROOT/mpi" <<END
pe_name mpi
slots 999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule \$fill_up
control_slaves TRUE
job_is_first_task FALSE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
END
    qconf -Ap "$SGE_ROOT/mpi"
    qconf -sq | sed "s|^qname .*|qname all.q|; s|^hostlist .*|hostlist $(echo $nodes)|; s|^pe_list .*|pe_list mpi|
                     s|^slots .*|slots 1|; s|^load_thresholds .*|load_thresholds NONE|" >"$SGE_ROOT/queue"
    qconf -Aq "$SGE_ROOT/queue"
} >"$SGE_ROOT/log" 2>&1 || { cat "$SGE_ROOT/log" >&2; exit 1; }
exec "$@"
