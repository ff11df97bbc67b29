/*
 * work - a fixed amount of arithmetic that uses neither memory nor MPI.
 */
#pragma once

#include <stdint.h>

/* Does so many units of work, one after the other. A unit takes some tens of nanoseconds. */
void work_do(int64_t units);

/* Returns how many units take so long on this CPU, at least 1; found once, by a few short readings, of which
 * the fastest counts. */
int64_t work_units(int64_t time_ns);
