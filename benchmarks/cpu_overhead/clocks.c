#include "clocks.h"

#include "cpu_time.h"
#include "fail_mpi.h"
#include "node_time.h"

/* A batch takes at least this long, and so many steps of the CPU clock; a clock with long steps must not make it longer
 * than the last value. */
enum { LEAST_BATCH_NS = 10000000, LEAST_STEPS = 200, MOST_BATCH_NS = 1000000000 };

const struct field clocks_fields[] = {
    FIELD(struct clocks, cpu_clock_step_ns,
          "the largest of a few steps in which CLOCK_PROCESS_CPUTIME_ID advanced, over ranks"),
    FIELD(struct clocks, kernel_tick_ns,
          "the time between two looks of the kernel at what a process does, from which it divides CPU times into user "
          "and system"),
    FIELD(struct clocks, batch_target_ns, "the least time of a batch: 200 such steps, from 10 ms to 1 s"),
    FIELD(struct clocks, node_tick_ns,
          "the unit in which the system tells the CPU time of the whole node (/proc/stat); left out in older records"),
    FIELD(struct clocks, node_cpus, "the CPUs of that node, likewise"),
    FIELDS_END,
};

struct clocks clocks_look(void) {
    int64_t step = cpu_time_step_ns();
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &step, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    const int64_t resolved = LEAST_STEPS * step;
    return (struct clocks){.cpu_clock_step_ns = step,
                           .kernel_tick_ns = cpu_time_tick_ns(),
                           .batch_target_ns = resolved < LEAST_BATCH_NS  ? LEAST_BATCH_NS
                                              : resolved > MOST_BATCH_NS ? MOST_BATCH_NS
                                                                         : resolved,
                           .node_tick_ns = node_time_tick_ns(),
                           .node_cpus = node_time_cpus()};
}
