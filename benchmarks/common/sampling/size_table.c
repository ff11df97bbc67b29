#include "size_table.h"

#include "fail.h"
#include "file.h"
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "mpi-campaign.sizes"
enum { SCHEMA_VERSION = 3 };

/* The names of two members, which differ between versions: the list of the computation's sizes, and a size in it. */
struct names {
    const char *work;
    const char *work_size;
};

static struct names names_of(uint64_t version) {
    return version < 3 ? (struct names){"computation", "matrix_size"} : (struct names){"work", "work_size"};
}

static bool read_list(const json_value *list, const char *what, const char *size_name, const char *path,
                      struct size_list *targets, char *error, size_t error_size) {
    for (size_t i = 0; i < targets->count; i++) {
        struct size_entry *entry = &targets->entries[i];
        bool found = false;
        for (size_t j = 0; j < json_count(list) && !found; j++) {
            const json_value *item = json_item(list, j);
            uint64_t target = 0;
            uint64_t time = 0;
            if (!json_count_value(json_member(item, "target_ns"), &target) || (int64_t)target != entry->target_ns) {
                continue;
            }
            const char *status = json_string(json_member(item, "status"));
            if (status == NULL || !size_status_parse(status, &entry->status) ||
                !json_count_value(json_member(item, size_name), &entry->size) ||
                (entry->size == 0 && entry->status != SIZE_NO_MESSAGE)) {
                snprintf(error, error_size,
                         "sizes file '%s': the entry of %s for %" PRId64 " ns needs a %s above 0 and a status", path,
                         what, entry->target_ns, size_name);
                return false;
            }
            entry->time_ns = json_count_value(json_member(item, "time_ns"), &time) ? (int64_t)time : 0;
            found = true;
        }
        if (!found) {
            snprintf(error, error_size,
                     "sizes file '%s' has no size of %s for %" PRId64
                     " ns; make one with --save-sizes and the same targets",
                     path, what, entry->target_ns);
            return false;
        }
    }
    return true;
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
    (void)context;
    table->points[size_table_point_index(table, collective, comm_target, comp_target)] =
        usual_sizes(table, collective, comm_target, comp_target);
}

struct exception {
    const char *collective;
    uint64_t comm_target_ns;
    uint64_t comp_target_ns;
    struct size_point sizes;
};

static void take_exception(void *context, const struct size_table *table, size_t collective, size_t comm_target,
                           size_t comp_target) {
    const struct exception *e = context;
    if (strcmp(table->collectives[collective].name, e->collective) == 0 &&
        table->collectives[collective].entries[comm_target].target_ns == (int64_t)e->comm_target_ns &&
        table->work.entries[comp_target].target_ns == (int64_t)e->comp_target_ns) {
        table->points[size_table_point_index(table, collective, comm_target, comp_target)] = e->sizes;
    }
}

static bool read_points(const json_value *list, const char *size_name, const char *path, struct size_table *table,
                        char *error, size_t error_size) {
    if (table->points == NULL) {
        return true;
    }
    visit_points(table, take_usual, NULL);
    for (size_t i = 0; i < json_count(list); i++) {
        const json_value *item = json_item(list, i);
        struct exception e = {.collective = json_string(json_member(item, "collective"))};
        if (e.collective == NULL || !json_count_value(json_member(item, "comm_target_ns"), &e.comm_target_ns) ||
            !json_count_value(json_member(item, "comp_target_ns"), &e.comp_target_ns) ||
            !json_count_value(json_member(item, "message_bytes"), &e.sizes.message_bytes) ||
            !json_count_value(json_member(item, size_name), &e.sizes.work_size) || e.sizes.work_size == 0) {
            snprintf(
                error, error_size,
                "sizes file '%s': point %zu needs a collective, two targets, a message size, and a work size above 0",
                path, i);
            return false;
        }
        visit_points(table, take_exception, &e);
    }
    return true;
}

/* Checks that a file was made for the same ranks, threads and computation. false and one line in error where not. */
static bool is_comparable(const json_value *root, uint64_t version, const char *path, const struct size_table *table,
                          char *error, size_t error_size) {
    uint64_t ranks = 0;
    uint64_t threads = 0;
    const bool counted = json_count_value(json_member(root, "ranks"), &ranks) &&
                         json_count_value(json_member(root, "threads_per_rank"), &threads);
    const bool same_threads = (int64_t)threads == table->threads_per_rank ||
                              (int64_t)threads == table->threads_per_rank + table->given_up_cores;
    if (!counted || (int64_t)ranks != table->ranks || !same_threads) {
        snprintf(error, error_size,
                 "sizes file '%s' was made for %" PRIu64 " ranks of %" PRIu64 " threads, this run has %" PRId64
                 " of %" PRId64 " and %" PRId64 " given-up cores; use a file for as many ranks with as many threads, "
                 "or threads and given-up cores together",
                 path, ranks, threads, table->ranks, table->threads_per_rank, table->given_up_cores);
        return false;
    }
    const char *computation = version < 3 ? "dgemm" : json_string(json_member(root, "computation"));
    if (computation == NULL || strcmp(computation, table->computation) != 0) {
        snprintf(error, error_size,
                 "sizes file '%s' was made for the computation %s, this run has %s; make one with --save-sizes "
                 "--computation %s",
                 path, computation != NULL ? computation : "(none named)", table->computation, table->computation);
        return false;
    }
    return true;
}

static bool read_table(const json_value *root, const char *path, struct size_table *table, char *error,
                       size_t error_size) {
    const char *schema = json_string(json_member(root, "schema"));
    uint64_t version = 0;
    if (schema == NULL || strcmp(schema, SCHEMA) != 0 ||
        !json_count_value(json_member(root, "schema_version"), &version) || version < 1 || version > SCHEMA_VERSION) {
        snprintf(error, error_size, "'%s' is no sizes file of schema %s, version 1 to %d; make one with --save-sizes",
                 path, SCHEMA, SCHEMA_VERSION);
        return false;
    }
    if (!is_comparable(root, version, path, table, error, error_size)) {
        return false;
    }
    const struct names names = names_of(version);
    const json_value *collectives = json_member(root, "collectives");
    for (size_t i = 0; i < table->collective_count; i++) {
        struct size_list *list = &table->collectives[i];
        if (!read_list(json_member(collectives, list->name), list->name, "message_bytes", path, list, error,
                       error_size)) {
            return false;
        }
    }
    return read_list(json_member(root, names.work), "the computation", names.work_size, path, &table->work, error,
                     error_size) &&
           read_points(json_member(root, "points"), names.work_size, path, table, error, error_size);
}

bool size_table_read(const char *path, struct size_table *table, char *error, size_t error_size) {
    size_t length = 0;
    char *text = file_read(path, &length, error, error_size);
    if (text == NULL) {
        return false;
    }
    char fault[256];
    bool good = false;
    json_value *root = json_parse(text, length, fault, sizeof fault);
    if (root == NULL) {
        snprintf(error, error_size, "sizes file '%s': %s", path, fault);
    } else {
        good = read_table(root, path, table, error, error_size);
    }
    json_destroy(root);
    free(text);
    return good;
}

static void put_list(json_line *line, const char *name, const char *size_name, const struct size_list *list) {
    json_open_array(line, name);
    for (size_t i = 0; i < list->count; i++) {
        const struct size_entry *entry = &list->entries[i];
        json_open_object(line, NULL);
        json_put_integer(line, "target_ns", entry->target_ns);
        json_put_integer(line, size_name, (int64_t)entry->size);
        json_put_string(line, "status", size_status_name(entry->status));
        json_put_integer(line, "time_ns", entry->time_ns);
        json_close_object(line);
    }
    json_close_array(line);
}

static void put_exception(void *context, const struct size_table *table, size_t collective, size_t comm_target,
                          size_t comp_target) {
    json_line *line = context;
    const struct size_point usual = usual_sizes(table, collective, comm_target, comp_target);
    const struct size_point *point =
        &table->points[size_table_point_index(table, collective, comm_target, comp_target)];
    const bool unmeasured = point->work_size == 0 || (point->message_bytes == 0 && usual.message_bytes > 0);
    if (unmeasured || (point->message_bytes == usual.message_bytes && point->work_size == usual.work_size)) {
        return;
    }
    json_open_object(line, NULL);
    json_put_string(line, "collective", table->collectives[collective].name);
    json_put_integer(line, "comm_target_ns", table->collectives[collective].entries[comm_target].target_ns);
    json_put_integer(line, "comp_target_ns", table->work.entries[comp_target].target_ns);
    json_put_integer(line, "message_bytes", (int64_t)point->message_bytes);
    json_put_integer(line, names_of(SCHEMA_VERSION).work_size, (int64_t)point->work_size);
    json_close_object(line);
}

bool size_table_write(const char *path, const struct size_table *table, char *error, size_t error_size) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_put_string(line, "schema", SCHEMA);
    json_put_integer(line, "schema_version", SCHEMA_VERSION);
    json_put_integer(line, "ranks", table->ranks);
    json_put_integer(line, "threads_per_rank", table->threads_per_rank);
    json_put_string(line, "computation", table->computation);
    json_open_object(line, "collectives");
    for (size_t i = 0; i < table->collective_count; i++) {
        put_list(line, table->collectives[i].name, "message_bytes", &table->collectives[i]);
    }
    json_close_object(line);
    put_list(line, names_of(SCHEMA_VERSION).work, names_of(SCHEMA_VERSION).work_size, &table->work);
    json_open_array(line, "points");
    if (table->points != NULL) {
        visit_points(table, put_exception, line);
    }
    json_close_array(line);
    json_close_object(line);
    size_t length = json_line_length(line);
    char *text = fail_alloc(length + 2, 1);
    memcpy(text, json_line_text(line), length);
    text[length] = '\n';
    bool good = file_replace(path, text, length + 1, error, error_size);
    free(text);
    json_line_destroy(line);
    return good;
}
