#include "artificial_clock.h"

#include "fail.h"
#include "timer.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    double offset_s, drift_ppm, jitter_ns, step_ns, step_after_s, rate_ppm, rate_after_s, backwards_ns, nodes;
    double rank;
    int64_t began;
} faults;
static pthread_once_t once = PTHREAD_ONCE_INIT;

int64_t artificial_clock_real_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + (int64_t)now.tv_nsec;
}

static double launcher_says(const char *const *names) {
    for (; *names != NULL; names++) {
        const char *text = getenv(*names);
        if (text != NULL) {
            return strtod(text, NULL);
        }
    }
    return 0;
}

static void read_faults(void) {
    static const char *const rank_names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", NULL};
    static const char *const size_names[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", NULL};
    const struct {
        const char *name;
        double *value;
    } known[] = {
        {"offset_s", &faults.offset_s}, {"drift_ppm", &faults.drift_ppm},       {"jitter_ns", &faults.jitter_ns},
        {"step_ns", &faults.step_ns},   {"step_after_s", &faults.step_after_s}, {"backwards_ns", &faults.backwards_ns},
        {"nodes", &faults.nodes},       {"rate_ppm", &faults.rate_ppm},         {"rate_after_s", &faults.rate_after_s}};
    const char *all = getenv("ARTIFICIAL_CLOCK");
    char *text = fail_strdup(all != NULL ? all : "");
    char *state = NULL;
    for (char *word = strtok_r(text, ",", &state); word != NULL; word = strtok_r(NULL, ",", &state)) {
        char *equals = strchr(word, '=');
        bool found = false;
        for (size_t i = 0; equals != NULL && i < sizeof known / sizeof *known; i++) {
            if (strncmp(word, known[i].name, (size_t)(equals - word)) == 0 && known[i].name[equals - word] == '\0') {
                *known[i].value = strtod(equals + 1, NULL);
                found = true;
            }
        }
        if (!found) {
            fail_die("ARTIFICIAL_CLOCK: '%s' is none of its faults", word);
        }
    }
    free(text);
    faults.rank = launcher_says(rank_names);
    if (faults.nodes > 0) {
        faults.rank = floor(faults.rank * faults.nodes / fmax(launcher_says(size_names), 1));
    }
    faults.began = artificial_clock_real_ns();
}

int64_t artificial_clock_at(int64_t real_ns) {
    pthread_once(&once, read_faults);
    double shift = faults.rank * (faults.offset_s * 1e9 + faults.drift_ppm * 1e-6 * (double)real_ns);
    if (faults.step_ns != 0 && faults.rank > 0 && (double)(real_ns - faults.began) > faults.step_after_s * 1e9) {
        shift += faults.step_ns;
    }
    if (faults.rate_ppm != 0) {
        shift += faults.rank * faults.rate_ppm * 1e-6 *
                 fmax((double)(real_ns - faults.began) - faults.rate_after_s * 1e9, 0);
    }
    return real_ns + (int64_t)llround(shift);
}

int64_t timer_of_monotonic(int64_t monotonic_ns) {
    return artificial_clock_at(monotonic_ns);
}

int64_t timer_now_ns(void) {
    static _Thread_local uint64_t state = 88172645463325252u;
    static _Thread_local int64_t last = INT64_MIN;
    int64_t now = artificial_clock_at(artificial_clock_real_ns());
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    double random = (double)(state >> 11) / 9007199254740992.0;
    if (faults.jitter_ns > 0) {
        now += (int64_t)((random - 0.5) * faults.jitter_ns);
        now = now > last || faults.step_ns < 0 ? now : last;
    }
    last = now;
    if (faults.backwards_ns > 0 && faults.rank > 0 && random < 0.001) {
        now -= (int64_t)faults.backwards_ns;
    }
    return now;
}
