#include "check.h"
#include "placement_text.h"

int main(void) {
    static const struct placement_thread threads[] = {{"async", "0-1"}};
    char core[] = "0";
    char *compute[] = {core};
    const struct placement_rank placement = {.rank = 0,
                                             .host = "h\xFF",
                                             .cpuset = "0-1",
                                             .physical_cores = 2,
                                             .compute_cpusets = compute,
                                             .compute_count = 1,
                                             .mpi_threads = threads,
                                             .mpi_thread_count = 1,
                                             .dedicated_cpuset = ""};
    const struct placement_rank helped = {.rank = 1,
                                          .host = "h",
                                          .cpuset = "0-1",
                                          .helper_threads = threads,
                                          .helper_thread_count = 1,
                                          .dedicated_cpuset = "1"};
    char *text = placement_text(&placement);
    CHECK_TEXT(
        text,
        "{\"rank\":0,\"host\":\"h\xEF\xBF\xBD\",\"node\":0,\"cpuset\":\"0-1\",\"physical_cores\":2,\"compute_cpusets\":"
        "[\"0\"],"
        "\"mpi_threads\":[{\"name\":\"async\",\"cpuset\":\"0-1\"}],\"helper_threads\":[],\"dedicated_cpuset\":\"\"}");
    char *helped_text = placement_text(&helped);
    CHECK_TEXT(helped_text, "{\"rank\":1,\"host\":\"h\",\"node\":0,\"cpuset\":\"0-1\",\"physical_cores\":0,\"compute_"
                            "cpusets\":[],\"mpi_threads\":[],"
                            "\"helper_threads\":[{\"name\":\"async\",\"cpuset\":\"0-1\"}],\"dedicated_cpuset\":\"1\"}");
    free(text);
    free(helped_text);
    return 0;
}
