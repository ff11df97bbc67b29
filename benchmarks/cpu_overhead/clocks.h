/*
 * clocks - what the CPU clocks of these ranks resolve, and how long a batch of calls must take for it.
 */
#pragma once

#include "fields.h"

#include <stdint.h>

/* As the header of the record has it. */
struct clocks {
    int64_t cpu_clock_step_ns;
    int64_t kernel_tick_ns;
    int64_t batch_target_ns;
    int64_t node_tick_ns;
    int64_t node_cpus;
};
extern const struct field clocks_fields[];

/* Collective: looks at the clocks. The same on all ranks but for what the nodes tell of themselves. */
struct clocks clocks_look(void);
