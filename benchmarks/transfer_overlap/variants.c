#include "variants.h"

#include <stddef.h>

const struct variant variant_table[VARIANT_COUNT] = {
    [VARIANT_NONOVERLAP] = {.name = "nonoverlap",
                            .what = "computes all, then exchanges: the reference (White & Bova 1999, figure 10)",
                            .way = HALO_POINT_TO_POINT,
                            .equivalent = true},
    {.name = "nothing",
     .what = "as overlap, with an exchange of nothing on both sides of the comparison: the negative control",
     .way = HALO_NOTHING,
     .early = true,
     .equivalent = true},
    {.name = "overlap",
     .what = "computes the interface, starts the exchange, computes the interior, waits (figure 11)",
     .way = HALO_POINT_TO_POINT,
     .early = true,
     .equivalent = true},
    {.name = "overlap_test",
     .what = "the same, and MPI_Testall is called while the interior is computed",
     .way = HALO_POINT_TO_POINT,
     .early = true,
     .tests = true,
     .equivalent = true},
    {.name = "persistent",
     .what = "as overlap, with persistent requests",
     .way = HALO_PERSISTENT,
     .early = true,
     .equivalent = true},
    {.name = "neighborhood",
     .what = "as overlap, with MPI_Ineighbor_alltoallv",
     .way = HALO_NEIGHBOURHOOD,
     .early = true,
     .equivalent = true},
    {.name = "double_buffered",
     .what = "sends the first half of the interface while the second is computed, each by MPI_Ialltoallv from a buffer "
             "of its own (Hoefler et al. 2006, section 4)",
     .way = HALO_COLLECTIVE,
     .early = true,
     .chunked = true,
     .equivalent = true},
    {.name = "pipelined",
     .what = "as overlap, and the sums are under way during the product, by MPI_Iallreduce (Ghysels & Vanroose 2014)",
     .way = HALO_POINT_TO_POINT,
     .early = true,
     .pipelined = true},
};

struct variant variant_reference(const struct variant *v) {
    struct variant reference = variant_table[VARIANT_NONOVERLAP];
    reference.way = v->way == HALO_NOTHING ? HALO_NOTHING : reference.way;
    return reference;
}

bool variant_is_control(const struct variant *v) {
    return !v->early || v->way == HALO_NOTHING;
}

OPTION_CHOICES_FROM(variant_choices, variant_table, VARIANT_COUNT, what)
