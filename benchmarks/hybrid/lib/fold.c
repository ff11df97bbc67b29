#include "fold.h"

#include "error.h"

#include <string.h>

/* So many bytes of a row are reduced at a time: they stay in the nearest cache while row after row is added. */
enum { CHUNK_BYTES = 16384 };

int fold_rows(const struct fold *fold, size_t begin, size_t end, char *result) {
    const size_t fits = CHUNK_BYTES / fold->element_bytes;
    const size_t chunk = fits > 0 ? fits : 1;
    for (size_t from = begin; from < end; from += chunk) {
        const size_t count = end - from < chunk ? end - from : chunk;
        const size_t offset = from * fold->element_bytes;
        memcpy(result + offset, fold->rows + (size_t)(fold->count - 1) * fold->stride + offset,
               count * fold->element_bytes);
        for (int row = fold->count - 2; row >= 0; row--) {
            TRY_MPI(MPI_Reduce_local(fold->rows + (size_t)row * fold->stride + offset, result + offset, (int)count,
                                     fold->type, fold->op));
        }
    }
    return MPI_SUCCESS;
}
