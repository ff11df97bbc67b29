/*
 * points - which points `partitioned` has: the values of grids and of the paper's figures, which of their combinations
 * are measured, and whether these ranks can.
 */
#pragma once

#include "approach.h"
#include "noise.h"
#include "program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Indices of the axes. The first four make the grid, the others have the same value in all points. */
enum { AXIS_MESSAGE, AXIS_PARTITIONS, AXIS_AGGREGATION, AXIS_DELAY, AXES };

/* MPI counts partitions and words as int, and tags of single partitions are numbers below the tags without data. */
enum { POINTS_MOST_PARTITIONS = 16384 };

/* What is asked for; the options write into it. */
struct points_plan {
    struct option_list message_bytes;
    struct option_list partitions_per_thread;
    struct option_list aggregation_bytes;
    struct option_list ratio_millionths; /* gamma * beta */
    int64_t receive_partitions;          /* 0: what the approach has */
    int approach;                        /* index of approach_table */
    int grid;
    int figure; /* index of points_figures; 0: none */
    int noise;  /* enum noise_kind */
    double noise_relative;
    int interfaces;
    int cache;
    int method; /* METHOD_PAPER, section 4: a fixed number of repetitions, the mean, and a delay by the clock */
    int64_t seed;
    const char *sizes;      /* file to read delays from; NULL: they are searched */
    const char *save_sizes; /* file to write them to; NULL: none */
    const char *reproducer; /* file for a program that shows wrong data of partitioned communication; NULL: none */
    /* points_fill makes: */
    struct option_list partitions; /* of the sender */
    bool preset; /* the axes are those of a grid, whose points are the figures' and not the whole product */
};

/* The figures of the paper whose settings can be asked for, and the values that the grids have. Figure 6 is figure 5
 * with a virtual interface per thread, which whoever starts the program tells the library. */
extern const struct option_choice points_figures[];
extern const struct option_values points_message_bytes[];
extern const struct option_values points_partitions_per_thread[];
extern const struct option_values points_aggregation_bytes[];
extern const struct option_values points_ratio_millionths[];

/* One line in error where options contradict each other, or the approach cannot do what they ask for. */
void points_check_options(const struct points_plan *plan, char *error, size_t error_size);

/* Fills the lists that were not given. Free plan->partitions with options_free_list. */
void points_fill(struct points_plan *plan, int threads);

/* Checks that every message divides into its partitions, and that ranks have the threads of a figure. One line in
 * error. */
void points_check(const struct points_plan *plan, int threads, char *error, size_t error_size);

/* Collective: one line in error, the same on all ranks, where these ranks cannot measure it. */
void points_check_ranks(const struct points_plan *plan, const struct program *program, char *error, size_t error_size);

const struct approach *points_approach(const struct points_plan *plan);

/* Returns the number of partitions on the receiving side. */
int64_t points_receive_partitions(const struct points_plan *plan, int64_t send_partitions);

/* Returns whether this combination is a point. */
bool points_has(const struct points_plan *plan, int threads, const size_t at[SAMPLER_MOST_AXES]);
