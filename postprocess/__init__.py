"""Records to metrics, tables, maps and reports. Knows records and run folders, and nothing of MPI or ReFrame.

load        record files and run folders as dataclasses
metrics     the formulas of Denis et al. 2022, with intervals
validity    what a point may be used for
points      run -> table of points, table of samples, JSON, Parquet; a record in a few numbers
summary     the points of one sweep in one line, and the verdict in words
maps        the points of one sweep as a grid; plot draws it, report shows it
table       tables for the terminal
report      the HTML report
"""
