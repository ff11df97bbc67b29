/* What of a placement works without MPI: the threads that appeared since it was created. */
#include "check.h"
#include "placement.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 24 };

static atomic_int over;
static atomic_size_t most;

static void *sleep_on(void *argument) {
    while (atomic_load(&over) == 0) {
        usleep(1000);
    }
    return argument;
}

/* What closes the record of a run that hangs: it looks at whatever moment. */
static void *look(void *argument) {
    placement *place = argument;
    size_t seen = 0;
    while (atomic_load(&over) == 0) {
        int64_t *times = NULL;
        const size_t count = placement_mpi_thread_cpu(place, &times);
        for (size_t i = 0; i < count; i++) {
            CHECK(times[i] >= 0);
        }
        free(times);
        CHECK(count >= seen); /* a thread that was seen once stays, and new ones come last */
        seen = count;
        atomic_store(&most, seen);
    }
    return NULL;
}

int main(void) {
    struct topology_threads self;
    topology_list_threads(&self);
    const bool visible = self.count > 0;
    topology_free_threads(&self);
    placement *place = placement_create();
    pthread_t looking;
    pthread_t threads[THREADS];
    CHECK(pthread_create(&looking, NULL, look, place) == 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, sleep_on, NULL) == 0);
        placement_look_again(place);
    }
    while (visible && atomic_load(&most) < THREADS) {
        usleep(1000);
    }
    atomic_store(&over, 1);
    CHECK(pthread_join(looking, NULL) == 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    placement_look_again(place); /* those that have ended stay */
    int64_t *times = NULL;
    CHECK(!visible || placement_mpi_thread_cpu(place, &times) == THREADS + 1);
    free(times);
    placement_destroy(place);
    return 0;
}
