/* Unit tests of layout: translation of ranks, by search and by table. */
#include "check.h"
#include "layout.h"

static void check_layout(const int *node_of, int ranks, int nodes, bool blocks) {
    for (int table = 0; table < 2; table++) {
        layout *l = layout_create(node_of, ranks, nodes, table == 1);
        CHECK(l != NULL);
        CHECK(layout_blocks(l) == blocks);
        int counts[8] = {0};
        for (int rank = 0; rank < ranks; rank++) {
            int node = -1;
            int node_rank = -1;
            layout_translate(l, rank, &node, &node_rank);
            CHECK(node == node_of[rank]);
            CHECK(node_rank == counts[node]++);
            CHECK(layout_rank(l, node, node_rank) == rank);
        }
        for (int node = 0; node < nodes; node++) {
            CHECK(layout_node_ranks(l, node) == counts[node]);
        }
        layout_destroy(l);
    }
}

static void test_memory_does_not_grow_with_ranks(void) {
    static int node_of[4096];
    for (int rank = 0; rank < 4096; rank++) {
        node_of[rank] = rank / 2048;
    }
    layout *searched = layout_create(node_of, 4096, 2, false);
    layout *table = layout_create(node_of, 4096, 2, true);
    CHECK(searched != NULL && table != NULL);
    CHECK(layout_bytes(searched) == 3 * sizeof(int));
    CHECK(layout_bytes(table) > 4096 * sizeof(int));
    layout_destroy(searched);
    layout_destroy(table);
}

int main(void) {
    check_layout((const int[]){0}, 1, 1, true);
    check_layout((const int[]){0, 0, 0, 1, 2, 2}, 6, 3, true);
    check_layout((const int[]){0, 1, 0, 1, 0}, 5, 2, false);
    check_layout((const int[]){0, 0, 1, 1, 0}, 5, 2, false);
    check_layout((const int[]){1, 1, 0}, 3, 2, false);
    check_layout((const int[]){0, 1, 2, 3, 4, 5, 6, 7}, 8, 8, true);
    test_memory_does_not_grow_with_ranks();
    return 0;
}
