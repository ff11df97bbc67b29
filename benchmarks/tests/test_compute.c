/* The team of threads and its kernels: as many threads as asked, one BLAS thread each, results that are right, also in
 * pieces, and times that are positive. No timing is judged. */
#include "check.h"
#include "compute.h"
#include "timer.h"

enum { THREADS = 2 };

static compute_team *create(enum compute_kind kind) {
    char error[256] = "";
    compute_team *team = compute_create(kind, THREADS, error, sizeof error);
    CHECK(team != NULL);
    return team;
}

/* All numbers are small multiples of 1/16: every product and sum is exact, in whatever order. */
static size_t wrong_products(const compute_team *team, size_t order) {
    size_t wrong = 0;
    for (int thread = 0; thread < THREADS; thread++) {
        size_t elements = 0;
        const double *a = compute_array(team, thread, 0, &elements);
        const double *b = compute_array(team, thread, 1, &elements);
        const double *c = compute_array(team, thread, 2, &elements);
        CHECK(elements == order * order);
        for (size_t column = 0; column < order; column++) {
            for (size_t row = 0; row < order; row++) {
                double sum = 0;
                for (size_t k = 0; k < order; k++) {
                    sum += a[k * order + row] * b[column * order + k];
                }
                wrong += sum != c[column * order + row];
            }
        }
    }
    return wrong;
}

/* Elements from first to before end of a thread's a that are the sums of b and c, and those that are not any more what
 * they were. */
static size_t computed(const compute_team *team, int thread, size_t first, size_t end) {
    size_t elements = 0;
    const double *a = compute_array(team, thread, 0, &elements);
    const double *b = compute_array(team, thread, 1, &elements);
    const double *c = compute_array(team, thread, 2, &elements);
    size_t right = 0;
    for (size_t i = first; i < end && i < elements; i++) {
        right += a[i] == b[i] + COMPUTE_TRIAD_FACTOR * c[i];
    }
    return right;
}

/* What a poll has seen. */
struct polls {
    int64_t calls;
    int64_t enough; /* after which it is not to be called any more */
    int64_t took_ns;
};

static bool poll(void *context) {
    struct polls *polls = context;
    const int64_t begin = timer_now_ns();
    while (timer_now_ns() - begin < 1000) {
    }
    polls->took_ns += timer_now_ns() - begin;
    polls->calls++;
    return polls->calls < polls->enough;
}

static void test_dgemm(void) {
    compute_team *team = create(COMPUTE_DGEMM);
    compute_reserve(team, 50);
    compute_reserve(team, 20); /* smaller: keeps what there is */
    CHECK(compute_run(team, 50, NULL) > 0);
    CHECK(wrong_products(team, 50) == 0);
    CHECK(compute_run(team, 20, NULL) > 0);
    CHECK(wrong_products(team, 20) == 0);
    compute_reserve(team, 101);
    struct polls polls = {.enough = 1000};
    const struct compute_cut cut = {.pieces = 3, .poll = poll, .context = &polls};
    CHECK(compute_run(team, 101, &cut) > 0);
    CHECK(polls.calls == 2 && wrong_products(team, 101) == 0);
    compute_warm(team, 101); /* reads only */
    CHECK(wrong_products(team, 101) == 0);
    struct topology_cpus cpusets[THREADS];
    compute_cpusets(team, cpusets);
    CHECK(topology_cpus_count(&cpusets[0]) == topology_cpus_count(&cpusets[1]));
    int cpu = topology_cpus_next(&cpusets[0], -1);
    if (cpu >= 0) {
        const int cpus[] = {cpu, cpu};
        if (compute_bind(team, cpus)) {
            compute_cpusets(team, cpusets);
            CHECK(topology_cpus_count(&cpusets[1]) == 1 && topology_cpus_has(&cpusets[1], cpu));
        }
    }
    compute_destroy(team);
}

/* Whatever orders are multiplied after each other, no product becomes a factor: numbers stay what they were. */
static void test_factors_stay(void) {
    enum { ORDER = 101 };
    static const uint64_t orders[] = {60, 40, 80, 20, ORDER};
    compute_team *team = create(COMPUTE_DGEMM);
    size_t elements = 0;
    compute_reserve(team, ORDER);
    compute_run(team, ORDER, NULL);
    double *factors = malloc(2 * sizeof(double) * ORDER * ORDER);
    CHECK(factors != NULL);
    for (int i = 0; i < 2; i++) {
        memcpy(factors + i * ORDER * ORDER, compute_array(team, 1, i, &elements), sizeof(double) * ORDER * ORDER);
    }
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        compute_run(team, orders[i], NULL);
        compute_warm(team, orders[i]);
        CHECK(wrong_products(team, orders[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(memcmp(factors + i * ORDER * ORDER, compute_array(team, 1, i, &elements),
                     sizeof(double) * ORDER * ORDER) == 0);
    }
    free(factors);
    compute_destroy(team);
}

/* A run goes on where the one before has stopped, over the end of the vectors, and around more than once. */
static void test_triad(void) {
    compute_team *team = create(COMPUTE_TRIAD);
    compute_reserve(team, 512);
    size_t elements = 0;
    compute_run(team, 0, NULL);
    compute_array(team, 0, 0, &elements);
    CHECK(elements * 3 * sizeof(double) >= (size_t)12 << 20);
    CHECK(elements * 3 * sizeof(double) * THREADS >= 3 * topology_cache_bytes());
    const size_t before = computed(team, 0, 0, elements);
    CHECK(before < elements / 2); /* first contents: hardly any sum is right by chance */
    for (int round = 1; round <= 2; round++) {
        CHECK(compute_run(team, 1024, NULL) > 0);
        compute_warm(team, 1024); /* where the next run begins, too, is as it was */
        for (int thread = 0; thread < THREADS; thread++) {
            CHECK(computed(team, thread, 0, 1024 * (size_t)round) == 1024 * (size_t)round);
            CHECK(computed(team, thread, 1024 * (size_t)round, elements) < elements / 2);
        }
    }
    struct polls polls = {.enough = 1000};
    const struct compute_cut cut = {.pieces = 7, .poll = poll, .context = &polls};
    CHECK(compute_run(team, elements - 2048, &cut) > 0);
    CHECK(polls.calls == 6);
    for (int thread = 0; thread < THREADS; thread++) {
        CHECK(computed(team, thread, 0, elements) == elements);
    }
    CHECK(compute_run(team, 2 * elements + 512, NULL) > 0);
    CHECK(computed(team, 1, 0, elements) == elements);
    compute_destroy(team);
}

/* Each thread has a time of its own, the slowest is what compute_run returns, and polling is in none of them. */
static void test_thread_times(void) {
    compute_team *team = create(COMPUTE_DGEMM);
    compute_reserve(team, 320);
    for (int repetition = 0; repetition < 5; repetition++) {
        int64_t times[THREADS] = {0};
        struct polls polls = {.enough = repetition == 4 ? 3 : 1000};
        const struct compute_cut cut = {.pieces = 20, .poll = poll, .context = &polls};
        const int64_t begin = timer_now_ns();
        const int64_t slowest = compute_run(team, 320, &cut);
        const int64_t all = timer_now_ns() - begin;
        compute_thread_times(team, times);
        CHECK(times[0] > 0 && times[1] > 0 && slowest == (times[0] > times[1] ? times[0] : times[1]));
        CHECK(polls.calls == (repetition == 4 ? 3 : 19));
        CHECK(compute_poll_time(team) >= polls.took_ns && polls.took_ns >= 1000 * polls.calls);
        CHECK(times[0] + compute_poll_time(team) <= all && times[1] <= all);
    }
    compute_run(team, 320, &(struct compute_cut){.pieces = 20});
    CHECK(compute_poll_time(team) == 0);
    compute_destroy(team);
}

/* One thread's work is its own: the other's product stays as it was. */
static void test_run_alone(void) {
    enum { ORDER = 24, SMALLER = 10 };
    compute_team *team = create(COMPUTE_DGEMM);
    size_t elements = 0;
    compute_reserve(team, ORDER);
    CHECK(compute_run_alone(team, 1, ORDER) > 0);
    const double *product = compute_array(team, 0, 2, &elements);
    const double first = product[0];
    compute_array(team, 1, 2, &elements);
    CHECK(elements == ORDER * ORDER);
    compute_run(team, ORDER, NULL);
    CHECK(wrong_products(team, ORDER) == 0);
    const double whole = product[0];
    CHECK(first != whole); /* it was not computed before */
    CHECK(compute_run_alone(team, 1, SMALLER) > 0);
    CHECK(product[0] == whole);
    compute_array(team, 0, 2, &elements);
    CHECK(elements == ORDER * ORDER);
    compute_array(team, 1, 2, &elements);
    CHECK(elements == SMALLER * SMALLER);
    compute_destroy(team);
}

static void test_sizes(void) {
    CHECK_TEXT(compute_choices()[COMPUTE_DGEMM].name, "dgemm");
    CHECK_TEXT(compute_choices()[COMPUTE_TRIAD].name, "triad");
    CHECK(compute_choices()[COMPUTE_KINDS].name == NULL);
    /* pieces: never narrower than is worth it, never none */
    CHECK(compute_pieces(COMPUTE_DGEMM, 320, 4) == 4);
    CHECK(compute_pieces(COMPUTE_DGEMM, 320, 1000) == 40);
    CHECK(compute_pieces(COMPUTE_DGEMM, 5, 1000) == 1);
    CHECK(compute_pieces(COMPUTE_DGEMM, 320, 0) == 1);
    /* 3 matrices of 100 x 100 doubles on each of 4 threads, and not one byte less */
    CHECK(compute_bytes(COMPUTE_DGEMM, 100, 4) == 960000);
    CHECK(compute_most(COMPUTE_DGEMM, 960000, 4) == 100);
    CHECK(compute_most(COMPUTE_DGEMM, 959999, 4) == 99);
    CHECK(compute_most(COMPUTE_DGEMM, 1e300, 1) == compute_kernels[COMPUTE_DGEMM].most);
    /* the triad's vectors do not depend on the work */
    CHECK(compute_bytes(COMPUTE_TRIAD, 512, 4) == compute_bytes(COMPUTE_TRIAD, 1 << 30, 4));
    CHECK(compute_most(COMPUTE_TRIAD, compute_bytes(COMPUTE_TRIAD, 512, 4), 4) == compute_kernels[COMPUTE_TRIAD].most);
    CHECK(compute_most(COMPUTE_TRIAD, compute_bytes(COMPUTE_TRIAD, 512, 4) - 1, 4) == 0);
}

int main(void) {
    test_dgemm();
    test_factors_stay();
    test_triad();
    test_thread_times();
    test_run_alone();
    test_sizes();
    CHECK(strlen(compute_blas_description()) > 0);
    return 0;
}
