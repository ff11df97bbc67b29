/*
 * fail_hybrid - checks every call of the library hybrid_collectives.
 *
 * Where a call returns an error, HYBRID_CHECK prints a line that names the call and has the library's own text, and
 * ends the group with MPI_Abort.
 */
#pragma once

#include "hybrid_collectives.h"

#define HYBRID_CHECK(call) fail_hybrid_check((call), #call)

void fail_hybrid_check(int code, const char *call);
