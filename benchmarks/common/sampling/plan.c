#include "plan.h"

#include "timer.h"

/* Of a budget: after how many times the whole of it nothing more is measured. */
#define HARD_LIMIT_FACTOR 3.0

double plan_elapsed_seconds(const struct plan *plan) {
    return (double)(timer_now_ns() - plan->began_ns) / 1e9;
}

uint64_t plan_pieces(const struct plan *plan, int64_t comp_target_ns) {
    if (plan->test_interval_ns <= 0) {
        return 1;
    }
    const int64_t pieces = (comp_target_ns + plan->test_interval_ns / 2) / plan->test_interval_ns;
    return pieces > 1 ? (uint64_t)pieces : 1;
}

bool plan_is_over(const struct plan *plan) {
    return plan->budget_seconds > 0 && plan_elapsed_seconds(plan) > HARD_LIMIT_FACTOR * plan->budget_seconds;
}
