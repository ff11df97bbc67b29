/* The timetable of mpi_impact and compute_alone, its way through a record, and what it measures. */
#include "check.h"
#include "impact.h"
#include "like.h"
#include "rendezvous.h"

#include <stdint.h>
#include <unistd.h>

#define MS INT64_C(1000000)

static char folder[] = "/tmp/test_impact_XXXXXX";
static char path[256];

static const char *place(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static struct impact_plan plan_of(struct impact_target *targets, size_t count) {
    static const int64_t times[] = {1 * MS, 16 * MS, 1024 * MS};
    for (size_t i = 0; i < count; i++) {
        targets[i] = (struct impact_target){.comp_target_ns = times[i],
                                            .work_size = 8 * (i + 1),
                                            .calibration = {.status = SIZE_CONVERGED, .time_ns = (double)times[i]}};
    }
    return (struct impact_plan){.computation = COMPUTE_DGEMM, .targets = targets, .count = count};
}

static void check_schedule(void) {
    struct impact_target targets[3];
    struct impact_plan plan = plan_of(targets, 3);
    impact_schedule(&plan, 0, 1000);
    CHECK(targets[2].repetitions == 1 && targets[2].warmup_repetitions == 0);
    CHECK(targets[1].repetitions == 3 && targets[1].warmup_repetitions == 1);
    CHECK(targets[0].repetitions == 50); /* short ones for 50 ms whatever the time */
    for (size_t i = 0; i < 3; i++) {
        CHECK(targets[i].slot_ns >
              targets[i].comp_target_ns * (targets[i].repetitions + targets[i].warmup_repetitions));
    }
    impact_schedule(&plan, 12, 1000);
    CHECK(targets[2].repetitions == 2);
    CHECK(impact_duration_ns(&plan) > 6000 * MS && impact_duration_ns(&plan) < 12500 * MS);
    impact_schedule(&plan, 12, 10);
    CHECK(targets[0].repetitions == 10 && targets[1].repetitions == 10);
}

/* Two targets that take no time: what is recorded is in order, whole, and not before the beginning. */
static void check_measurement(void) {
    struct impact_target targets[2];
    struct impact_plan plan = plan_of(targets, 2);
    char error[256];
    impact_schedule(&plan, 0.05, 5);
    compute_team *team = compute_create(COMPUTE_DGEMM, 1, error, sizeof error);
    CHECK(team != NULL);
    struct impact_samples *samples = impact_samples_create(&plan);
    impact_prepare(team, &plan);
    const int64_t begin = impact_utc_ns() + 5 * MS;
    impact_measure(team, &plan, begin, samples);
    CHECK(impact_utc_ns() >= begin + impact_duration_ns(&plan) - MS);
    CHECK(samples[0].begin_utc_ns >= begin - MS);
    CHECK(samples[0].end_utc_ns <= samples[1].begin_utc_ns);
    for (size_t i = 0; i < 2; i++) {
        int64_t sum = 0;
        for (int64_t j = 0; j < targets[i].repetitions; j++) {
            CHECK(samples[i].t_comp_ns[j] > 0);
            sum += samples[i].t_comp_ns[j];
        }
        CHECK(sum <= samples[i].end_utc_ns - samples[i].begin_utc_ns);
    }
    impact_samples_free(&plan, samples);
    compute_destroy(team);
}

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(place(name), "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void check_like(void) {
    char error[512] = "";
    char first[] = "0 0 1", second[] = "1 2-3 8", third[] = "0 2 3", fourth[] = "1 0 1";
    char *places[] = {first, second, third, fourth};
    struct impact_target targets[3];
    struct impact_plan plan = plan_of(targets, 3);
    struct like like;
    impact_schedule(&plan, 1, 7);
    plan.computation = COMPUTE_TRIAD;
    CHECK(like_write(place("like"), &plan, places, 4, error, sizeof error));
    CHECK(like_read(place("like"), 1, &like, error, sizeof error));
    CHECK(like.ranks == 4 && like.threads == 2 && like.plan.computation == COMPUTE_TRIAD && like.plan.count == 3);
    for (size_t i = 0; i < 3; i++) {
        const struct impact_target *again = &like.plan.targets[i];
        CHECK(again->comp_target_ns == targets[i].comp_target_ns && again->work_size == targets[i].work_size);
        CHECK(again->repetitions == targets[i].repetitions && again->slot_ns == targets[i].slot_ns);
        CHECK(again->warmup_repetitions == targets[i].warmup_repetitions);
        CHECK(again->calibration.time_ns == targets[i].calibration.time_ns);
    }
    CHECK(topology_cpus_has(&like.cpus[0], 3) && topology_cpus_count(&like.cpus[0]) == 2 &&
          topology_cpus_has(&like.cpus[1], 8));
    CHECK(like.neighbour_count == 2 && like.neighbours[0] == 1 && like.neighbours[1] == 3); /* those of its node */
    like_free(&like);
    CHECK(!like_read(place("like"), 4, &like, error, sizeof error));
    CHECK(strstr(error, "of 4 ranks") != NULL);
    CHECK(!like_read(place("none"), 0, &like, error, sizeof error));
    CHECK(unlink(place("like")) == 0);
}

#define LIKE "schema mpi-campaign.like 1\n"
#define TARGET "target 1 7 3 0 1 1\n"

static void check_wrong_like(void) {
    static const char *const wrong[] = {
        "{\"schema\":\"mpi-campaign.record\"}\n",
        LIKE "computation dgemm\nrank 0 0\n",
        LIKE "computation sorting\nrank 0 0\n" TARGET,
        LIKE "computation dgemm\nrank 0\n" TARGET,
        LIKE "computation dgemm\nrank\n" TARGET,
        LIKE "computation dgemm\nrank 0 one\n" TARGET,
        LIKE "computation dgemm\n" TARGET,
        LIKE "computation dgemm\nrank 0 0\ntarget 1 0 3 0 1 1\n",
        LIKE "computation dgemm\nrank 0 0\ntarget 1 7 3 0 0 1\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char error[512] = "";
        struct like like;
        write_file("wrong", wrong[i]);
        CHECK(!like_read(place("wrong"), 0, &like, error, sizeof error));
        CHECK(error[0] != '\0' && strchr(error, '\n') == NULL);
    }
    CHECK(unlink(place("wrong")) == 0);
}

static void check_rendezvous(void) {
    char error[512] = "";
    char base[300];
    int64_t begin = 0;
    int64_t other = 0;
    static const int both[] = {0, 3};
    snprintf(base, sizeof base, "%s", place("alone"));
    CHECK(!rendezvous_wait(base, 0, both, 2, 0.05, &begin, error, sizeof error));
    CHECK(strstr(error, "process 3, one of 2") != NULL);
    const int64_t now = impact_utc_ns();
    CHECK(rendezvous_wait(base, 3, both, 2, 5, &begin, error, sizeof error)); /* the first one's file is still there */
    CHECK(begin >= now && begin < now + 5000 * MS);
    CHECK(rendezvous_wait(base, 0, both, 1, 5, &other, error, sizeof error) && other > now);
    rendezvous_leave(base, 0);
    rendezvous_leave(base, 3);
    rendezvous_leave(base, 3); /* gone already */
    CHECK(!rendezvous_wait("/nonexistent/alone", 0, both, 1, 5, &begin, error, sizeof error));
}

int main(void) {
    CHECK(mkdtemp(folder) != NULL);
    check_schedule();
    check_measurement();
    check_like();
    check_wrong_like();
    check_rendezvous();
    CHECK(rmdir(folder) == 0);
    return 0;
}
