#include "graph.h"

#include "fail.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef HAS_METIS
#include <metis.h>
#endif
#ifdef HAS_SCOTCH
#include <scotch.h>
#endif

#if defined HAS_METIS || defined HAS_SCOTCH
/* The neighbours of point i are edges[first[i] ... first[i + 1] - 1]. The libraries' integers may have 4 or 8 bytes;
 * these have as many as the library's. */
struct rows {
    void *first;
    void *edges;
    int64_t count; /* of edges, each counted from both ends */
};

static void put(void *numbers, size_t size, int64_t at, int64_t value) {
    if (size == sizeof(int32_t)) {
        ((int32_t *)numbers)[at] = (int32_t)value;
    } else {
        ((int64_t *)numbers)[at] = value;
    }
}

/* size: bytes of an integer. */
static struct rows make_rows(const struct grid *g, size_t size) {
    struct rows rows = {.first = fail_alloc((size_t)g->points + 1, size),
                        .edges = fail_alloc((size_t)g->points * GRID_MOST_NEIGHBOURS, size)};
    for (int64_t i = 0; i < g->points; i++) {
        int64_t neighbours[GRID_MOST_NEIGHBOURS];
        const int count = grid_neighbours(g, i, neighbours);
        for (int k = 0; k < count; k++) {
            put(rows.edges, size, rows.count++, neighbours[k]);
        }
        put(rows.first, size, i + 1, rows.count);
    }
    return rows;
}

static void free_rows(struct rows *rows) {
    free(rows->first);
    free(rows->edges);
}

/* Returns whether every part has a point. */
static bool none_empty(const uint16_t *part, int64_t points, int parts) {
    bool *used = fail_alloc((size_t)parts, sizeof *used);
    bool all = true;
    for (int64_t i = 0; i < points; i++) {
        used[part[i]] = true;
    }
    for (int i = 0; i < parts; i++) {
        all = all && used[i];
    }
    free(used);
    return all;
}
#endif

#ifdef HAS_METIS
bool graph_has_metis(void) {
    return true;
}

bool graph_divide_by_metis(const struct grid *g, int parts, uint16_t *part) {
    struct rows rows = make_rows(g, sizeof(idx_t));
    idx_t *found = fail_alloc((size_t)g->points, sizeof *found);
    idx_t vertices = (idx_t)g->points;
    idx_t constraints = 1;
    idx_t count = parts;
    idx_t cut = 0;
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    const bool divided = METIS_PartGraphRecursive(&vertices, &constraints, rows.first, rows.edges, NULL, NULL, NULL,
                                                  &count, NULL, NULL, options, &cut, found) == METIS_OK;
    for (int64_t i = 0; divided && i < g->points; i++) {
        part[i] = (uint16_t)found[i];
    }
    free_rows(&rows);
    free(found);
    return divided && none_empty(part, g->points, parts);
}
#else
bool graph_has_metis(void) {
    return false;
}

bool graph_divide_by_metis(const struct grid *g, int parts, uint16_t *part) {
    return false;
}
#endif

#ifdef HAS_SCOTCH
/* The parts of a bisection may differ in size by so much. */
static const double SCOTCH_IMBALANCE = 0.01;

bool graph_has_scotch(void) {
    return true;
}

/* Divides a graph that was built. Returns whether that went well. */
static bool divide_by_scotch(SCOTCH_Graph *graph, int parts, SCOTCH_Num *found) {
    SCOTCH_Strat strategy;
    if (SCOTCH_stratInit(&strategy) != 0) {
        return false;
    }
    const bool good = SCOTCH_stratGraphMapBuild(&strategy, SCOTCH_STRATRECURSIVE, parts, SCOTCH_IMBALANCE) == 0 &&
                      SCOTCH_graphPart(graph, parts, &strategy, found) == 0;
    SCOTCH_stratExit(&strategy);
    return good;
}

/* The division is the same in every launch. Scotch 7 has threads, which would make it another one each time: it gets
 * one thread, and is told to be deterministic. */
#if SCOTCH_VERSION >= 7
static bool divide_always_alike(SCOTCH_Graph *graph, int parts, SCOTCH_Num *found) {
    SCOTCH_Context context;
    SCOTCH_Graph bound;
    bool good = false;
    if (SCOTCH_contextInit(&context) != 0) {
        return false;
    }
    SCOTCH_contextRandomSeed(&context, 1);
    if (SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) == 0 &&
        SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMRANDOMFIXEDSEED, 1) == 0 &&
        SCOTCH_contextThreadSpawn(&context, 1, NULL) == 0 && SCOTCH_graphInit(&bound) == 0) {
        if (SCOTCH_contextBindGraph(&context, graph, &bound) == 0) {
            SCOTCH_contextRandomReset(&context);
            good = divide_by_scotch(&bound, parts, found);
        }
        SCOTCH_graphExit(&bound);
    }
    SCOTCH_contextExit(&context);
    return good;
}
#else
static bool divide_always_alike(SCOTCH_Graph *graph, int parts, SCOTCH_Num *found) {
    SCOTCH_randomSeed(1);
    SCOTCH_randomReset();
    return divide_by_scotch(graph, parts, found);
}
#endif

bool graph_divide_by_scotch(const struct grid *g, int parts, uint16_t *part) {
    struct rows rows = make_rows(g, sizeof(SCOTCH_Num));
    SCOTCH_Num *found = fail_alloc((size_t)g->points, sizeof *found);
    SCOTCH_Graph graph;
    bool divided = SCOTCH_graphInit(&graph) == 0;
    if (divided) {
        divided = SCOTCH_graphBuild(&graph, 0, (SCOTCH_Num)g->points, rows.first, NULL, NULL, NULL,
                                    (SCOTCH_Num)rows.count, rows.edges, NULL) == 0 &&
                  divide_always_alike(&graph, parts, found);
        SCOTCH_graphExit(&graph);
    }
    for (int64_t i = 0; divided && i < g->points; i++) {
        part[i] = (uint16_t)found[i];
    }
    free_rows(&rows);
    free(found);
    return divided && none_empty(part, g->points, parts);
}
#else
bool graph_has_scotch(void) {
    return false;
}

bool graph_divide_by_scotch(const struct grid *g, int parts, uint16_t *part) {
    return false;
}
#endif
