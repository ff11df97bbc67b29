#include "fail_hybrid.h"

#include "fail.h"

#include <string.h>

void fail_hybrid_check(int code, const char *call) {
    if (code != MPI_SUCCESS) {
        char reason[512];
        hybrid_last_error(reason, sizeof reason);
        fail_die("%.*s: %s", (int)strcspn(call, "("), call, reason);
    }
}
