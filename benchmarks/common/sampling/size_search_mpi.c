#include "size_search_mpi.h"

#include "fail_mpi.h"

#include <stddef.h>

struct asking {
    MPI_Comm comm;
    bool (*go_on)(void *context);
    size_search_mpi_measure *measure;
    void *context;
};

static bool may_go_on(void *context) {
    const struct asking *asking = context;
    return asking->go_on == NULL || asking->go_on(asking->context);
}

static bool ask(void *context, uint64_t size, double *time_ns) {
    const struct asking *asking = context;
    MPI_CHECK(MPI_Bcast(&size, 1, MPI_UINT64_T, 0, asking->comm));
    *time_ns = asking->measure(asking->context, size);
    return *time_ns >= 0;
}

/* found NULL: a new search. */
static struct size_search_result search(MPI_Comm comm, const struct size_search_request *request,
                                        const struct size_search_result *found, size_search_mpi_measure *measure,
                                        void *context) {
    struct size_search_result result = {0};
    struct asking asking = {.comm = comm, .go_on = request->go_on, .measure = measure, .context = context};
    int rank = 0;
    uint64_t size = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    if (rank == 0) {
        struct size_search_request own = *request;
        own.measure = ask;
        own.go_on = may_go_on;
        own.context = &asking;
        result = found != NULL ? size_search_recheck(&own, found) : size_search_run(&own);
        MPI_CHECK(MPI_Bcast(&size, 1, MPI_UINT64_T, 0, comm)); /* no size is 0: the end */
    } else {
        for (;;) {
            MPI_CHECK(MPI_Bcast(&size, 1, MPI_UINT64_T, 0, comm));
            if (size == 0) {
                break;
            }
            measure(context, size);
        }
    }
    MPI_CHECK(MPI_Bcast(&result, sizeof result, MPI_BYTE, 0, comm));
    return result;
}

struct size_search_result size_search_mpi_run(MPI_Comm comm, const struct size_search_request *request,
                                              size_search_mpi_measure *measure, void *context) {
    return search(comm, request, NULL, measure, context);
}

struct size_search_result size_search_mpi_recheck(MPI_Comm comm, const struct size_search_request *request,
                                                  const struct size_search_result *found,
                                                  size_search_mpi_measure *measure, void *context) {
    return search(comm, request, found, measure, context);
}
