#include "budget.h"

#include "timer.h"

/* Nothing more is measured after so many times the budget. */
#define HARD_LIMIT_FACTOR 3.0

double budget_elapsed_seconds(const struct budget *budget) {
    return (double)(timer_now_ns() - budget->began_ns) / 1e9;
}

bool budget_is_over(const struct budget *budget) {
    return budget->seconds > 0 && budget_elapsed_seconds(budget) > HARD_LIMIT_FACTOR * budget->seconds;
}
