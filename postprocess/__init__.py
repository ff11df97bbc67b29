"""Records to metrics, tables, maps and reports. Knows records and run folders, and nothing of MPI or ReFrame.

Its rooms, from the ground up; a room imports what stands above it in this list:

drawing     how numbers, names, tables, pages and pictures look
statistics  pure functions on numbers: the metrics with their intervals, effects, limits
records     record files and run folders as dataclasses
families    a folder for each family of benchmarks: its tables, what they are worth, its pictures; their registry
quality     how well this project measures
verdicts    launches of many runs held against each other
report      the report of one run
"""
