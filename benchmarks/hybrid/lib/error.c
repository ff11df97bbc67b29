#include "error.h"

#include "hybrid_collectives.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char last_error[MPI_MAX_ERROR_STRING + 256];

int error_set(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return code;
}

int error_of_mpi(int code, const char *call) {
    if (code == MPI_SUCCESS) {
        return code;
    }
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) {
        snprintf(text, sizeof text, "MPI error %d", code);
    }
    for (char *c = text; *c != '\0'; c++) {
        *c = *c == '\n' ? ' ' : *c;
    }
    return error_set(code, "%.*s: %s", (int)strcspn(call, "("), call, text);
}

void hybrid_last_error(char *text, size_t text_size) {
    if (text != NULL && text_size > 0) {
        snprintf(text, text_size, "%s", last_error);
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const void **handles;
static size_t handle_count;
static size_t handle_room;

bool handle_add(const void *handle) {
    bool added = true;
    pthread_mutex_lock(&lock);
    if (handle_count == handle_room) {
        const size_t room = handle_room == 0 ? 16 : 2 * handle_room;
        const void **more = realloc(handles, room * sizeof *more);
        added = more != NULL;
        if (added) {
            handles = more;
            handle_room = room;
        }
    }
    if (added) {
        handles[handle_count++] = handle;
    }
    pthread_mutex_unlock(&lock);
    return added;
}

bool handle_exists(const void *handle) {
    bool exists = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < handle_count && !exists; i++) {
        exists = handles[i] == handle;
    }
    pthread_mutex_unlock(&lock);
    return exists;
}

void handle_remove(const void *handle) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < handle_count; i++) {
        if (handles[i] == handle) {
            handles[i] = handles[--handle_count];
            break;
        }
    }
    if (handle_count == 0) {
        free(handles);
        handles = NULL;
        handle_room = 0;
    }
    pthread_mutex_unlock(&lock);
}
