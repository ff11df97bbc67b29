/*
 * launch - carries out the timetable of mpi_impact between MPI_Init and MPI_Finalize, and writes the record of it.
 */
#pragma once

#include "impact.h"
#include "program.h"

#include <stdbool.h>

/* Collective, for a plan that is the same on all ranks. sizes_given: its sizes are from a file. Returns the exit code.
 */
int launch_measure(struct program *program, const struct impact_plan *plan, bool sizes_given);
