#include "budget.h"

#include "timer.h"

/* Of a budget: after how many times the whole of it nothing more is measured. */
#define HARD_LIMIT_FACTOR 3.0

double budget_elapsed_seconds(const struct budget *budget) {
    return (double)(timer_now_ns() - budget->began_ns) / 1e9;
}

bool budget_is_over(const struct budget *budget) {
    return budget->seconds > 0 && budget_elapsed_seconds(budget) > HARD_LIMIT_FACTOR * budget->seconds;
}
