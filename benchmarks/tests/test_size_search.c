#include "check.h"
#include "size_search.h"

#include <math.h>
#include <stdint.h>

/* A synthetic machine: the time of a size. */
struct machine {
    double (*time)(double size, struct machine *self);
    double noise; /* relative, uniform */
    uint64_t state;
    unsigned calls;
    unsigned limit;             /* no more measurements after these; 0: none */
    uint64_t smallest, largest; /* asked for */
};

static bool measure(void *context, uint64_t size, double *time_ns) {
    struct machine *machine = context;
    if (machine->limit > 0 && machine->calls >= machine->limit) {
        return false;
    }
    machine->calls++;
    machine->smallest = machine->smallest == 0 || size < machine->smallest ? size : machine->smallest;
    machine->largest = size > machine->largest ? size : machine->largest;
    machine->state = machine->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    double uniform = (double)(machine->state >> 11) / 9007199254740992.0;
    *time_ns = machine->time((double)size, machine) * (1 + machine->noise * (2 * uniform - 1));
    return true;
}

/* 20 us latency, 8 bytes per ns. */
static double message_time(double size, struct machine *self) {
    return 2e4 + size / 8;
}

/* 2 n^3 operations at 50 per ns. */
static double matrix_time(double n, struct machine *self) {
    return 500 + 2 * n * n * n / 50;
}

/* Another protocol above 1 MiB: the time doubles at once. */
static double jump_time(double size, struct machine *self) {
    return message_time(size, self) * (size < 1048576 ? 1 : 2);
}

/* The other protocol is faster, for twice the size and more. */
static double fall_time(double size, struct machine *self) {
    return size < 1048576 ? 1e5 + size / 2 : 1e5 + size / 20;
}

/* Spikes up to four times the time, in a pattern that looks random (section 6.2). */
static double chaotic_time(double size, struct machine *self) {
    double phase = fmod(size * 0.61803398875, 1000) / 1000;
    return message_time(size, self) * (1 + 3 * phase);
}

static double constant_time(double size, struct machine *self) {
    return 1e6;
}

static struct size_search_request request_of(struct machine *machine, double target, uint64_t initial) {
    bool matrix = machine->time == matrix_time;
    return (struct size_search_request){.target_ns = target,
                                        .tolerance = 0.02,
                                        .min_size = matrix ? 2 : 64,
                                        .max_size = matrix ? 16384 : (uint64_t)1 << 30,
                                        .step = matrix ? 1 : 64,
                                        .initial_size = initial,
                                        .exponent = matrix ? 3 : 1,
                                        .max_measurements = 30,
                                        .measure = measure,
                                        .context = machine};
}

static struct size_search_result search(struct machine *machine, double target, uint64_t initial) {
    const struct size_search_request request = request_of(machine, target, initial);
    struct size_search_result result = size_search_run(&request);
    CHECK(result.size >= request.min_size && result.size <= request.max_size); /* never a silent 0 */
    CHECK((result.size - request.min_size) % request.step == 0);
    CHECK(result.measurements == machine->calls && result.measurements <= request.max_measurements);
    CHECK(machine->calls == 0 || (machine->smallest >= request.min_size && machine->largest <= request.max_size));
    CHECK(fabs(result.error_relative - (result.time_ns - target) / target) < 1e-9);
    CHECK((result.status == SIZE_CONVERGED) == (fabs(result.error_relative) <= 0.02));
    return result;
}

static struct machine machine_of(double (*time)(double, struct machine *)) {
    return (struct machine){.time = time, .state = 7};
}

static void test_smooth(void) {
    static const uint64_t guesses[] = {1, 64, 65536, 1000000, (uint64_t)1 << 40};
    for (double target = 5e5; target <= 1.1e8; target *= 2) {
        for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++) {
            struct machine message = machine_of(message_time);
            struct size_search_result result = search(&message, target, guesses[i]);
            CHECK(result.status == SIZE_CONVERGED && result.measurements <= 16);
            CHECK(fabs((2e4 + (double)result.size / 8) / target - 1) <= 0.02);
            struct machine matrix = machine_of(matrix_time);
            result = search(&matrix, target, guesses[i]);
            CHECK(result.status == SIZE_CONVERGED && result.measurements <= 16);
        }
    }
}

static void test_unreachable(void) {
    struct machine slow = machine_of(message_time);
    struct size_search_result result = search(&slow, 1e3, 65536); /* below the latency */
    CHECK(result.status == SIZE_UNREACHABLE && result.size == 64 && result.error_relative > 0);
    struct machine fast = machine_of(message_time);
    result = search(&fast, 1e10, 65536); /* 80 GB */
    CHECK(result.status == SIZE_UNREACHABLE && result.error_relative < 0 && result.size > 1000000000);
    struct machine constant = machine_of(constant_time);
    CHECK(search(&constant, 2e6, 65536).status == SIZE_UNREACHABLE);
    struct machine below = machine_of(constant_time);
    CHECK(search(&below, 5e5, 65536).status == SIZE_UNREACHABLE);
}

static void test_jump(void) {
    struct machine machine = machine_of(jump_time);
    double before = 2e4 + 1048576.0 / 8;
    struct size_search_result result = search(&machine, 1.4 * before, 65536);
    CHECK(result.status == SIZE_OFF_TARGET);
    CHECK(fabs(fabs(result.error_relative) - 0.2857) < 0.01); /* the nearer side of the jump */
}

static void test_not_monotonic(void) {
    struct machine machine = machine_of(fall_time);
    struct size_search_result result = search(&machine, 7e5, 1500000); /* crosses beyond 12 MB */
    CHECK(result.status == SIZE_CONVERGED);
    struct machine chaotic = machine_of(chaotic_time);
    for (double target = 5e5; target < 1e8; target *= 1.3) {
        chaotic.calls = 0;
        result = search(&chaotic, target, 65536);
        CHECK(result.status != SIZE_UNREACHABLE);
    }
    struct machine fall = machine_of(fall_time);
    result = search(&fall, 6.3e5 * 1.1, 900000);
    CHECK(result.status == SIZE_CONVERGED || result.status == SIZE_NOT_MONOTONIC);
}

/* A time that leaps over the target and then comes down again without reaching it. */
static double leap_time(double size, struct machine *self) {
    return size < 100000 ? 1e5 + size : size < 300000 ? 1e6 : 7e5 + size / 100;
}

static void test_leap(void) {
    struct machine machine = machine_of(leap_time);
    struct size_search_result result = search(&machine, 4e5, 65536);
    CHECK(result.status == SIZE_NOT_MONOTONIC || result.status == SIZE_OFF_TARGET);
    struct machine again = machine_of(leap_time);
    result = search(&again, 4e5, 1000000); /* the search has seen the fall */
    CHECK(result.status == SIZE_NOT_MONOTONIC);
}

static void test_noise(void) {
    int converged = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct machine quiet = {.time = message_time, .noise = 0.005, .state = seed};
        converged += search(&quiet, 8e6, 65536).status == SIZE_CONVERGED;
        struct machine noisy = {.time = message_time, .noise = 0.5, .state = seed};
        struct size_search_result result = search(&noisy, 8e6, 65536);
        CHECK(result.status != SIZE_UNREACHABLE);
        CHECK(result.size > 8e6); /* an eighth of the size at least: it did not run away */
    }
    CHECK(converged >= 198);
}

static void test_out_of_time(void) {
    for (unsigned limit = 1; limit < 6; limit++) {
        struct machine machine = machine_of(message_time);
        machine.limit = limit;
        struct size_search_result result = search(&machine, 8e6, 64);
        CHECK(result.measurements <= limit && result.time_ns > 0);
    }
    struct machine unasked = machine_of(message_time);
    struct size_search_request none = request_of(&unasked, 1, 64);
    none.max_measurements = 0;
    struct size_search_result result = size_search_run(&none);
    CHECK(result.status == SIZE_NOT_SEARCHED && result.size == 64 && result.measurements == 0);
}

/* The machine was slow while the search ran, and is not any more; or is slow now for a moment. */
static double slow_at_first(double size, struct machine *self) {
    return message_time(size, self) * (self->calls <= 12 ? 2 : 1);
}

static double leap_at_target(double size, struct machine *self) {
    return size < 1048576 ? 7e6 : 1e7;
}

static struct size_search_result recheck(struct machine *machine, const struct size_search_result *found) {
    const struct size_search_request request = request_of(machine, 8e6, 64);
    return size_search_recheck(&request, found);
}

static void test_recheck(void) {
    struct machine machine = machine_of(message_time);
    const struct size_search_result right = search(&machine, 8e6, 64);
    CHECK(right.status == SIZE_CONVERGED);
    /* nothing has changed: one look, the same answer */
    struct size_search_result again = recheck(&machine, &right);
    CHECK(again.size == right.size && again.status == SIZE_CONVERGED && again.measurements == right.measurements + 1);
    /* two disturbed looks are forgiven */
    struct machine busy = {.time = slow_at_first, .state = 7, .calls = 10};
    again = recheck(&busy, &right);
    CHECK(again.size == right.size && again.measurements == right.measurements + 3);
    /* what was found under load is corrected */
    struct machine slow = {.time = message_time, .state = 7};
    struct size_search_result wrong = right;
    wrong.size = right.size / 2 / 64 * 64;
    wrong.time_ns = 8e6;
    again = recheck(&slow, &wrong);
    CHECK(again.status == SIZE_CONVERGED && fabs((2e4 + (double)again.size / 8) / 8e6 - 1) <= 0.02);
    CHECK(again.measurements > wrong.measurements + 3 && again.measurements <= wrong.measurements + 3 + 8);
    /* no time: it stays */
    struct machine none = {.time = message_time, .state = 7, .calls = 1, .limit = 1};
    again = recheck(&none, &wrong);
    CHECK(again.size == wrong.size && again.measurements == wrong.measurements);
    /* off target by noise: the second search finds it; by a jump: it stays so, and the nearer side counts */
    struct size_search_result off = {
        .status = SIZE_OFF_TARGET, .size = 80000000, .time_ns = 1.002e7, .error_relative = 0.2525};
    again = recheck(&slow, &off);
    CHECK(again.status == SIZE_CONVERGED && again.measurements > 1);
    struct machine jump = machine_of(leap_at_target);
    off =
        (struct size_search_result){.status = SIZE_OFF_TARGET, .size = 1024, .time_ns = 7e6, .error_relative = -0.125};
    again = recheck(&jump, &off);
    CHECK(again.status == SIZE_OFF_TARGET && again.time_ns == 7e6 && again.measurements <= 31);
}

static void test_doubt(void) {
    const int64_t second = 1000000000;
    CHECK(size_search_may_recheck(0, 0));
    CHECK(size_search_may_recheck(10 * second, 0) && !size_search_may_recheck(10 * second + 1, 0)); /* a short run */
    CHECK(size_search_may_recheck(190 * second, 6000 * second) &&
          !size_search_may_recheck(191 * second, 6000 * second)); /* a full map */
}

static void test_names(void) {
    enum size_status status;
    CHECK_TEXT(size_status_name(SIZE_NOT_MONOTONIC), "not_monotonic");
    CHECK(size_status_parse("unreachable", &status) && status == SIZE_UNREACHABLE);
    CHECK(!size_status_parse("Unreachable", &status));
}

int main(void) {
    test_smooth();
    test_unreachable();
    test_jump();
    test_not_monotonic();
    test_leap();
    test_noise();
    test_out_of_time();
    test_recheck();
    test_doubt();
    test_names();
    return 0;
}
