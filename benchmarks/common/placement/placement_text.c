#include "placement_text.h"

#include "json.h"

#include <stdint.h>

static void put_threads(json_line *line, const char *name, const struct placement_thread *threads, size_t count) {
    json_open_array(line, name);
    for (size_t i = 0; i < count; i++) {
        json_open_object(line, NULL);
        json_put_string(line, "name", threads[i].name);
        json_put_string(line, "cpuset", threads[i].cpuset);
        json_close_object(line);
    }
    json_close_array(line);
}

char *placement_text(const struct placement_rank *placement) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_put_integer(line, "rank", placement->rank);
    json_put_string(line, "host", placement->host);
    json_put_integer(line, "node", placement->node);
    json_put_string(line, "cpuset", placement->cpuset);
    json_put_integer(line, "physical_cores", (int64_t)placement->physical_cores);
    json_open_array(line, "compute_cpusets");
    for (size_t i = 0; i < placement->compute_count; i++) {
        json_put_string(line, NULL, placement->compute_cpusets[i]);
    }
    json_close_array(line);
    put_threads(line, "mpi_threads", placement->mpi_threads, placement->mpi_thread_count);
    put_threads(line, "helper_threads", placement->helper_threads, placement->helper_thread_count);
    json_put_string(line, "dedicated_cpuset", placement->dedicated_cpuset);
    json_close_object(line);
    return json_line_take(line);
}
