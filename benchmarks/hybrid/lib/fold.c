#include "fold.h"

#include "error.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* So many bytes of a row are reduced at a time, so that they stay in the nearest cache while row after row is added:
 * in memory of this rank's own, where the result may be one of the rows. */
enum { CHUNK_BYTES = 8192 };

static int fold_into(const struct fold *fold, size_t begin, size_t end, char *result, char *own, size_t chunk) {
    for (size_t from = begin; from < end; from += chunk) {
        const size_t count = end - from < chunk ? end - from : chunk;
        const size_t offset = from * fold->element_bytes;
        char *reduced = fold->apart ? result + offset : own;
        memcpy(reduced, fold->rows + (size_t)(fold->count - 1) * fold->stride + offset, count * fold->element_bytes);
        for (int row = fold->count - 2; row >= 0; row--) {
            TRY_MPI(MPI_Reduce_local(fold->rows + (size_t)row * fold->stride + offset, reduced, (int)count, fold->type,
                                     fold->op));
        }
        if (!fold->apart) {
            memcpy(result + offset, reduced, count * fold->element_bytes);
        }
    }
    return MPI_SUCCESS;
}

int fold_rows(const struct fold *fold, size_t begin, size_t end, char *result) {
    alignas(max_align_t) char own[CHUNK_BYTES];
    const size_t fits = CHUNK_BYTES / fold->element_bytes;
    if (fits > 0) {
        return fold_into(fold, begin, end, result, own, fits);
    }
    char *larger = malloc(fold->element_bytes); /* an element of a type of the application's own */
    if (larger == NULL) {
        return error_set(MPI_ERR_NO_MEM, "no memory for an element of %zu bytes", fold->element_bytes);
    }
    const int code = fold_into(fold, begin, end, result, larger, 1);
    free(larger);
    return code;
}
