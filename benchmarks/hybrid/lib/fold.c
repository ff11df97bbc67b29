#include "fold.h"

#include "error.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* So many bytes of a row are reduced at a time, so that they stay in the nearest cache while row after row is added:
 * in memory of this rank's own, where the result may be one of the rows. */
enum { CHUNK_BYTES = 8192 };

/* ---- sums of common types ----
 *
 * MPI_Reduce_local adds to what is there, so that one row must be copied first. These read two rows and write a third.
 */

/* Sets result[i] = left[i] + right[i]; result may be `right`. */
typedef void add_rows(const void *left, const void *right, void *result, size_t count);

#if defined(__GNUC__) && !defined(__clang__)
#define INDEPENDENT _Pragma("GCC ivdep") /* no element depends on another one */
#else
#define INDEPENDENT
#endif

#define ADD(name, type)                                                                                                \
    static void name(const void *left, const void *right, void *result, size_t count) {                                \
        const type *a = left;                                                                                          \
        const type *b = right;                                                                                         \
        type *sum = result;                                                                                            \
        INDEPENDENT                                                                                                    \
        for (size_t i = 0; i < count; i++) {                                                                           \
            sum[i] = a[i] + b[i];                                                                                      \
        }                                                                                                              \
    }
ADD(add_double, double)
ADD(add_float, float)
ADD(add_32, uint32_t) /* also signed numbers: they may overflow */
ADD(add_64, uint64_t)

/* Returns NULL where MPI_Reduce_local reduces. */
static add_rows *adder(const struct fold *fold) {
    if (fold->op != MPI_SUM) {
        return NULL;
    }
    if (fold->type == MPI_DOUBLE) {
        return add_double;
    }
    if (fold->type == MPI_FLOAT) {
        return add_float;
    }
    if (fold->type == MPI_INT) {
        return add_32;
    }
    return fold->type == MPI_INT64_T || (fold->type == MPI_LONG && sizeof(long) == sizeof(int64_t)) ? add_64 : NULL;
}

/* Sets result = left op right, of so many elements; result may be `right`. */
static int combine(const struct fold *fold, add_rows *add, const char *left, const char *right, char *result,
                   size_t count) {
    if (add != NULL) {
        add(left, right, result, count);
        return MPI_SUCCESS;
    }
    if (result != right) {
        memcpy(result, right, count * fold->element_bytes);
    }
    TRY_MPI(MPI_Reduce_local(left, result, (int)count, fold->type, fold->op));
    return MPI_SUCCESS;
}

static int fold_into(const struct fold *fold, size_t begin, size_t end, char *result, char *own, size_t chunk) {
    add_rows *add = adder(fold);
    for (size_t from = begin; from < end; from += chunk) {
        const size_t count = end - from < chunk ? end - from : chunk;
        const size_t offset = from * fold->element_bytes;
        const char *right = fold->rows + (size_t)(fold->count - 1) * fold->stride + offset;
        char *reduced = fold->apart ? result + offset : own;
        for (int row = fold->count - 2; row >= 0; row--) {
            TRY(combine(fold, add, fold->rows + (size_t)row * fold->stride + offset, right, reduced, count));
            right = reduced;
        }
        if (right != result + offset) {
            memcpy(result + offset, right, count * fold->element_bytes);
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
