"""How long barriers take."""

from mpi_campaign.planning.benchmarks.benchmark import Benchmark

BARRIER_TIME = Benchmark("how long barriers take", test="barrier_time", configurations=("basic", "async"))
