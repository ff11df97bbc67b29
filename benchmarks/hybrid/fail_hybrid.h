/*
 * fail_hybrid - checks every call of the library hybrid_collectives.
 *
 * Where a call returns an error, HYBRID_CHECK prints a line that names the call and has the library's own text, and
 * ends the group with MPI_Abort.
 */
#ifndef HYBRID_FAIL_HYBRID_H
#define HYBRID_FAIL_HYBRID_H

#include "hybrid_collectives.h"

#define HYBRID_CHECK(call) fail_hybrid_check((call), #call)

void fail_hybrid_check(int code, const char *call);

#endif
