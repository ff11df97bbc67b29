#include "plan.h"

uint64_t plan_pieces(const struct plan *plan, int64_t comp_target_ns) {
    if (plan->test_interval_ns <= 0) {
        return 1;
    }
    const int64_t pieces = (comp_target_ns + plan->test_interval_ns / 2) / plan->test_interval_ns;
    return pieces > 1 ? (uint64_t)pieces : 1;
}
