#include "size_table.h"

#include "key_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SCHEMA "mpi-campaign.sizes"
enum { SCHEMA_VERSION = 4 };

/* Takes the values of a line from this one on: size, status and time. */
static void take_entry(struct key_values *file, const struct key_line *line, size_t at, const char *size_name,
                       struct size_entry *entry) {
    const char *status = key_values_text(file, line, at + 1, "a status");
    entry->size = key_values_number(file, line, at, size_name, 0);
    entry->time_ns = (int64_t)key_values_number(file, line, at + 2, "time_ns", 0);
    if (!size_status_parse(status, &entry->status)) {
        key_values_fail(file, line, "'%s' is no status, such as %s", status, size_status_name(SIZE_CONVERGED));
    } else if (entry->size == 0 && entry->status != SIZE_NO_MESSAGE) {
        key_values_fail(file, line, "%s must be above 0", size_name);
    }
}

/* Takes the entries of a list from the lines with this key; those of messages have the collective before the target. */
static void take_list(struct key_values *file, const char *key, const char *size_name, struct size_list *list) {
    const size_t at = list->name != NULL ? 1 : 0;
    for (size_t i = 0; i < list->count; i++) {
        struct size_entry *entry = &list->entries[i];
        const struct key_line *line = NULL;
        bool found = false;
        while (!found && (line = key_values_next(file, key, line)) != NULL) {
            found = (list->name == NULL || strcmp(key_values_text(file, line, 0, "a collective"), list->name) == 0) &&
                    (int64_t)key_values_number(file, line, at, "target_ns", 0) == entry->target_ns;
        }
        if (found) {
            take_entry(file, line, at + 1, size_name, entry);
        } else {
            key_values_fail(file, NULL,
                            "has no size of %s for %" PRId64 " ns; make one with --save-sizes and the same targets",
                            list->name != NULL ? list->name : "the computation", entry->target_ns);
        }
    }
}

size_t size_table_point_count(const struct size_table *table) {
    return table->collective_count > 0 ? table->collective_count * table->collectives[0].count * table->work.count : 0;
}

size_t size_table_point_index(const struct size_table *table, size_t collective, size_t comm_target,
                              size_t comp_target) {
    return (collective * table->collectives[0].count + comm_target) * table->work.count + comp_target;
}

/* Calls visit for every point, in the order of points. */
typedef void visit_point(void *context, const struct size_table *table, size_t collective, size_t comm_target,
                         size_t comp_target);

static void visit_points(const struct size_table *table, visit_point *visit, void *context) {
    for (size_t i = 0; i < table->collective_count; i++) {
        for (size_t j = 0; j < table->collectives[i].count; j++) {
            for (size_t k = 0; k < table->work.count; k++) {
                visit(context, table, i, j, k);
            }
        }
    }
}

static struct size_point usual_sizes(const struct size_table *table, size_t collective, size_t comm_target,
                                     size_t comp_target) {
    return (struct size_point){table->collectives[collective].entries[comm_target].size,
                               table->work.entries[comp_target].size};
}

static void take_usual(void *context, const struct size_table *table, size_t collective, size_t comm_target,
                       size_t comp_target) {
    table->points[size_table_point_index(table, collective, comm_target, comp_target)] =
        usual_sizes(table, collective, comm_target, comp_target);
}

/* A point that has other sizes than the lists. */
struct exception {
    const char *collective;
    int64_t comm_target_ns;
    int64_t comp_target_ns;
    struct size_point sizes;
};

static void take_exception(void *context, const struct size_table *table, size_t collective, size_t comm_target,
                           size_t comp_target) {
    const struct exception *e = context;
    if (strcmp(table->collectives[collective].name, e->collective) == 0 &&
        table->collectives[collective].entries[comm_target].target_ns == e->comm_target_ns &&
        table->work.entries[comp_target].target_ns == e->comp_target_ns) {
        table->points[size_table_point_index(table, collective, comm_target, comp_target)] = e->sizes;
    }
}

static void take_points(struct key_values *file, const struct size_table *table) {
    visit_points(table, take_usual, NULL);
    const struct key_line *line = NULL;
    while ((line = key_values_next(file, "point", line)) != NULL) {
        struct exception e = {
            .collective = key_values_text(file, line, 0, "a collective"),
            .comm_target_ns = (int64_t)key_values_number(file, line, 1, "comm_target_ns", 0),
            .comp_target_ns = (int64_t)key_values_number(file, line, 2, "comp_target_ns", 0),
            .sizes = {key_values_number(file, line, 3, "message_bytes", 0),
                      key_values_number(file, line, 4, "work_size", 1)},
        };
        visit_points(table, take_exception, &e);
    }
}

/* Checks that a file was made for the same ranks, threads and computation. */
static void check_comparable(struct key_values *file, const struct size_table *table) {
    const int64_t ranks = (int64_t)key_values_number(file, key_values_line(file, "ranks"), 0, "ranks", 1);
    const int64_t threads =
        (int64_t)key_values_number(file, key_values_line(file, "threads_per_rank"), 0, "threads_per_rank", 1);
    const char *computation = key_values_text(file, key_values_line(file, "computation"), 0, "a computation");
    if (ranks != table->ranks ||
        (threads != table->threads_per_rank && threads != table->threads_per_rank + table->given_up_cores)) {
        key_values_fail(file, NULL,
                        "was made for %" PRId64 " ranks of %" PRId64 " threads, this run has %" PRId64 " of %" PRId64
                        " and %" PRId64
                        " given-up cores; use a file for as many ranks with as many threads, or threads and given-up "
                        "cores together",
                        ranks, threads, table->ranks, table->threads_per_rank, table->given_up_cores);
    } else if (strcmp(computation, table->computation) != 0) {
        key_values_fail(file, NULL,
                        "was made for the computation %s, this run has %s; make one with --save-sizes --computation %s",
                        computation, table->computation, table->computation);
    }
}

bool size_table_read(const char *path, struct size_table *table, char *error, size_t error_size) {
    struct key_values file = key_values_read("sizes file", path, SCHEMA, SCHEMA_VERSION, "make one with --save-sizes");
    check_comparable(&file, table);
    for (size_t i = 0; i < table->collective_count; i++) {
        take_list(&file, "message", "message_bytes", &table->collectives[i]);
    }
    take_list(&file, "work", "work_size", &table->work);
    if (table->points != NULL) {
        take_points(&file, table);
    }
    const bool good = file.fault[0] == '\0';
    if (!good) {
        snprintf(error, error_size, "%s", file.fault);
    }
    key_values_free(&file);
    return good;
}

/* name: the collective, and a blank; "" for the computation. */
static void put_list(FILE *file, const char *key, const char *name, const struct size_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        const struct size_entry *entry = &list->entries[i];
        fprintf(file, "%s %s%" PRId64 " %" PRIu64 " %s %" PRId64 "\n", key, name, entry->target_ns, entry->size,
                size_status_name(entry->status), entry->time_ns);
    }
}

static void put_exception(void *context, const struct size_table *table, size_t collective, size_t comm_target,
                          size_t comp_target) {
    const struct size_point usual = usual_sizes(table, collective, comm_target, comp_target);
    const struct size_point *point =
        &table->points[size_table_point_index(table, collective, comm_target, comp_target)];
    const bool unmeasured = point->work_size == 0 || (point->message_bytes == 0 && usual.message_bytes > 0);
    if (unmeasured || (point->message_bytes == usual.message_bytes && point->work_size == usual.work_size)) {
        return;
    }
    fprintf(context, "point %s %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 "\n", table->collectives[collective].name,
            table->collectives[collective].entries[comm_target].target_ns, table->work.entries[comp_target].target_ns,
            point->message_bytes, point->work_size);
}

bool size_table_write(const char *path, const struct size_table *table, char *error, size_t error_size) {
    struct key_writer writer;
    key_values_begin(&writer, SCHEMA, SCHEMA_VERSION);
    fprintf(writer.file, "ranks %" PRId64 "\nthreads_per_rank %" PRId64 "\ncomputation %s\n", table->ranks,
            table->threads_per_rank, table->computation);
    fprintf(writer.file, "# message collective target_ns message_bytes status time_ns\n"
                         "# work target_ns work_size status time_ns\n"
                         "# point collective comm_target_ns comp_target_ns message_bytes work_size\n");
    for (size_t i = 0; i < table->collective_count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s ", table->collectives[i].name);
        put_list(writer.file, "message", name, &table->collectives[i]);
    }
    put_list(writer.file, "work", "", &table->work);
    if (table->points != NULL) {
        visit_points(table, put_exception, writer.file);
    }
    return key_values_end(&writer, path, error, error_size);
}
