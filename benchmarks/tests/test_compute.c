/* The team of threads: as many as asked, one BLAS thread each, a time that is positive. No timing is judged. */
#include "check.h"
#include "compute.h"

int main(void) {
    char error[256] = "";
    compute_team *team = compute_create(2, error, sizeof error);
    CHECK(team != NULL);
    compute_reserve(team, 50);
    compute_reserve(team, 20); /* smaller: keeps what there is */
    CHECK(compute_run(team, 50) > 0);
    CHECK(compute_run(team, 20) > 0);
    struct topology_cpus cpusets[2];
    compute_cpusets(team, cpusets);
    CHECK(topology_cpus_count(&cpusets[0]) == topology_cpus_count(&cpusets[1]));
    int cpu = topology_cpus_next(&cpusets[0], -1);
    if (cpu >= 0) {
        const int cpus[] = {cpu, cpu};
        if (compute_bind(team, cpus)) {
            compute_cpusets(team, cpusets);
            CHECK(topology_cpus_count(&cpusets[1]) == 1 && topology_cpus_has(&cpusets[1], cpu));
        }
    }
    CHECK(strlen(compute_blas_description()) > 0);
    compute_destroy(team);
    return 0;
}
