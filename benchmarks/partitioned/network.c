#include "network.h"

#include "fail.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>

void network_add(struct network *network, int64_t short_ns, int64_t long_ns) {
    network->short_ns = fail_realloc(network->short_ns, network->count + 1, sizeof *network->short_ns);
    network->long_ns = fail_realloc(network->long_ns, network->count + 1, sizeof *network->long_ns);
    network->short_ns[network->count] = short_ns;
    network->long_ns[network->count] = long_ns;
    network->count++;
}

void network_free(struct network *network) {
    free(network->short_ns);
    free(network->long_ns);
    *network = (struct network){.short_ns = NULL};
}

static double median_from(const int64_t *times, size_t first, size_t end) {
    stats_values *values = stats_create();
    for (size_t i = first; i < end; i++) {
        stats_add(values, times[i]);
    }
    const int64_t median = stats_median(values);
    stats_destroy(values);
    return (double)median;
}

struct network_estimate network_estimate(const struct network *network, size_t first) {
    const double latency_ns = median_from(network->short_ns, first, network->count);
    const double beyond_ns = median_from(network->long_ns, first, network->count) - latency_ns;
    if (!(latency_ns > 0 && beyond_ns > 0)) {
        return (struct network_estimate){NAN, NAN};
    }
    const double bytes = (double)(network->long_bytes - network->short_bytes);
    return (struct network_estimate){latency_ns, bytes / beyond_ns * 1e9};
}

size_t network_take_new(struct network *network, const int64_t **short_ns, const int64_t **long_ns) {
    const size_t first = network->recorded;
    const size_t count = network->count - first;
    *short_ns = count > 0 ? network->short_ns + first : NULL;
    *long_ns = count > 0 ? network->long_ns + first : NULL;
    network->recorded = network->count;
    return count;
}
