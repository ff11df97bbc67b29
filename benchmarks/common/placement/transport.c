#include "transport.h"

#include "fail.h"
#include "fail_mpi.h"
#include "json.h"
#include "names.h"

#include <dirent.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <mpi.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int64_t transport_tcp_bytes_sent(void) {
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL) {
        return -1;
    }
    int64_t sum = 0;
    bool known = true;
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        struct tcp_info info = {0};
        socklen_t length = sizeof info;
        int protocol = 0;
        socklen_t protocol_length = sizeof protocol;
        char *end = NULL;
        const long descriptor = strtol(entry->d_name, &end, 10);
        if (end == entry->d_name ||
            getsockopt((int)descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &protocol_length) != 0 ||
            protocol != IPPROTO_TCP) {
            continue; /* no socket, or none of TCP */
        }
        /* an older kernel fills in less of the struct */
        if (getsockopt((int)descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
            length < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked) {
            known = false;
        } else {
            sum += (int64_t)info.tcpi_bytes_acked;
        }
    }
    closedir(directory);
    return known ? sum : -1;
}

struct variable {
    char name[256];
    MPI_Datatype type;
    MPI_T_enum names; /* of its values; MPI_T_ENUM_NULL: none */
    int bind;
};

/* false: there is none of this number (a library may leave holes), or its name does not fit. */
static bool look_up(int number, struct variable *v) {
    int name_length = sizeof v->name;
    int verbosity = 0;
    int description_length = 0;
    int scope = 0;
    *v = (struct variable){.names = MPI_T_ENUM_NULL};
    return MPI_T_cvar_get_info(number, v->name, &name_length, &verbosity, &v->type, &v->names, NULL,
                               &description_length, &v->bind, &scope) == MPI_SUCCESS &&
           name_length <= (int)sizeof v->name;
}

/* The name of an integer's value where the library has one for it. */
static bool enum_text(MPI_T_enum names, int value, char *text, size_t size) {
    int count = 0;
    char name[64];
    int length = sizeof name;
    if (names == MPI_T_ENUM_NULL || MPI_T_enum_get_info(names, &count, name, &length) != MPI_SUCCESS) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        char item[256];
        int item_value = 0;
        int item_length = sizeof item;
        if (MPI_T_enum_get_item(names, i, &item_value, item, &item_length) == MPI_SUCCESS && item_value == value) {
            snprintf(text, size, "%s", item);
            return true;
        }
    }
    return false;
}

/* What is read, of whichever type. */
union value {
    unsigned char boolean; /* not bool: a library may write another value than 0 and 1, which no bool may have */
    int integer;
    long integer_long;
    int32_t integer_32;
    int64_t integer_64;
    unsigned natural;
    unsigned long natural_long;
    unsigned long long natural_long_long;
    uint32_t natural_32;
    uint64_t natural_64;
    MPI_Count count;
    double real;
};

/* false: no signed number. */
static bool signed_text(MPI_Datatype type, const union value *value, char *text, size_t size) {
    long long number = 0;
    if (type == MPI_LONG) {
        number = value->integer_long;
    } else if (type == MPI_INT32_T) {
        number = value->integer_32;
    } else if (type == MPI_INT64_T) {
        number = value->integer_64;
    } else if (type == MPI_COUNT) {
        number = value->count;
    } else {
        return false;
    }
    snprintf(text, size, "%lld", number);
    return true;
}

/* false: no unsigned number. */
static bool unsigned_text(MPI_Datatype type, const union value *value, char *text, size_t size) {
    unsigned long long number = 0;
    if (type == MPI_UNSIGNED) {
        number = value->natural;
    } else if (type == MPI_UNSIGNED_LONG) {
        number = value->natural_long;
    } else if (type == MPI_UNSIGNED_LONG_LONG) {
        number = value->natural_long_long;
    } else if (type == MPI_UINT32_T) {
        number = value->natural_32;
    } else if (type == MPI_UINT64_T) {
        number = value->natural_64;
    } else {
        return false;
    }
    snprintf(text, size, "%llu", number);
    return true;
}

/* The types that MPI-4 allows (section 15.3.5), and those beside them that Open MPI has. */
static bool value_text(const struct variable *v, const void *read, int count, char *text, size_t size) {
    const union value *value = read;
    if (v->type == MPI_CHAR) {
        snprintf(text, size, "%.*s", count, (const char *)read);
    } else if (v->type == MPI_C_BOOL) {
        snprintf(text, size, "%s", value->boolean != 0 ? "true" : "false");
    } else if (v->type == MPI_INT) {
        if (!enum_text(v->names, value->integer, text, size)) {
            snprintf(text, size, "%d", value->integer);
        }
    } else if (v->type == MPI_DOUBLE) {
        snprintf(text, size, "%g", value->real);
    } else {
        return signed_text(v->type, value, text, size) || unsigned_text(v->type, value, text, size);
    }
    return true;
}

/* false: it cannot be read, or is of a type that no such variable has. */
static bool read_text(int number, const struct variable *v, char *text, size_t size) {
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int count = 0;
    if (v->bind != MPI_T_BIND_NO_OBJECT || MPI_T_cvar_handle_alloc(number, NULL, &handle, &count) != MPI_SUCCESS) {
        return false;
    }
    bool good = false;
    if (count > 0 && (v->type == MPI_CHAR || count == 1)) {
        /* Room to spare, and a terminating zero whatever the library writes. */
        char *read = fail_alloc((size_t)count + sizeof(union value) + 1, 1);
        good = MPI_T_cvar_read(handle, read) == MPI_SUCCESS && value_text(v, read, count, text, size);
        free(read);
    }
    return MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS && good;
}

char *transport_variables(const char *list) {
    int level = MPI_THREAD_SINGLE;
    int provided = 0;
    int count = 0;
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    MPI_CHECK(MPI_Query_thread(&level));
    /* The level that MPI was started with: Open MPI takes the one of the latest call for all of the library. */
    if (MPI_T_init_thread(level, &provided) == MPI_SUCCESS) {
        if (MPI_T_cvar_get_num(&count) != MPI_SUCCESS) {
            count = 0;
        }
        for (int i = 0; i < count; i++) {
            struct variable v;
            char text[1024];
            if (look_up(i, &v) && names_let_in(list, v.name, false) && read_text(i, &v, text, sizeof text)) {
                json_put_string(line, v.name, text);
            }
        }
        /* MPI_T_finalize is not called: in MPICH 4.2.3 it frees the text of control variables, which the collectives
         * of communicators made later still read: MPI_Barrier ends with a segmentation fault. */
    }
    json_close_object(line);
    char *text = fail_strdup(json_line_text(line));
    json_line_destroy(line);
    return text;
}
