#include "budget.h"

#include "timer.h"

/* Nothing more is measured after so many times the budget. */
#define HARD_LIMIT_FACTOR 3.0

double budget_elapsed_seconds(const struct budget *budget) {
    return (double)(timer_now_ns() - budget->began_ns) / 1e9;
}

double budget_left_seconds(const struct budget *budget) {
    return HARD_LIMIT_FACTOR * budget->seconds - budget_elapsed_seconds(budget);
}

bool budget_is_over(const struct budget *budget) {
    return budget->seconds > 0 && budget_left_seconds(budget) < 0;
}
