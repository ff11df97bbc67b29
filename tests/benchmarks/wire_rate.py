"""What a wire makes of its rate: times of messages beside bytes / rate, per rate, size and direction.

.venv/bin/python -m tests.benchmarks.wire_rate [--repetitions 31]
"""

import argparse

from mpi_campaign.doctor import wire_rate
from mpi_campaign.networks import rates

SIZES = (128 << 10, 256 << 10, 1 << 20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=31)
    asked = parser.parse_args()
    print("| rate | bytes | way | time / (bytes / rate) | 95 % interval | the bucket holds, bytes |")
    print("| --- | --- | --- | --- | --- | --- |")
    for rate in wire_rate.RATES:
        holds = rates.bucket_bytes(rate)
        for one in wire_rate.measure(rate, SIZES, asked.repetitions):
            print(
                f"| {rate} | {one.message_bytes} | {one.way} | {one.ratio:.3f} | [{one.low:.3f}, {one.high:.3f}] "
                f"| {holds} |"
            )


if __name__ == "__main__":
    main()
