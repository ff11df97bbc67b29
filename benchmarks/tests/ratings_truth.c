/* Reads files in the Matrix Market format and prints what is in each, or why it is refused; or, with a size and a seed,
 * generates a matrix of ratings and writes it in that format. */
#include "fail.h"
#include "ratings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(const struct ratings *r) {
    double sum = 0;
    for (size_t i = 0; i < r->count; i++) {
        sum += r->items[i].value * (r->items[i].row + 1) + r->items[i].column + 1;
    }
    printf("%d %d %zu %.17g\n", r->rows, r->columns, r->count, sum);
}

static void write(const struct ratings *r) {
    printf("%%%%MatrixMarket matrix coordinate real general\n%d %d %zu\n", r->rows, r->columns, r->count);
    for (size_t i = 0; i < r->count; i++) {
        printf("%d %d %.17g\n", r->items[i].row + 1, r->items[i].column + 1, r->items[i].value);
    }
}

int main(int argc, char **argv) {
    struct ratings ratings;
    fail_setup("ratings_truth", -1, NULL);
    if (argc == 4 && strcmp(argv[1], "generate") == 0) {
        ratings_generate(&ratings, (int32_t)atoi(argv[2]), 0.5, strtoull(argv[3], NULL, 10));
        write(&ratings);
        ratings_free(&ratings);
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        char error[512] = "";
        if (ratings_read(argv[i], &ratings, error, sizeof error)) {
            print(&ratings);
            ratings_free(&ratings);
        } else {
            printf("%s\n", error);
        }
    }
    return 0;
}
