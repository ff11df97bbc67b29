"""The rate of a rate-limited link, such as 2gbit, and its token bucket."""

import math
import re

# A token bucket fills while the link is idle. Its content then passes at once, and so does the packet that takes the
# last of it. Both are therefore small. The bucket holds the bytes of the time by which a timer may be late: a full
# bucket loses tokens, and lost tokens make the link slower. Shorter packets would be more exact for messages of
# 128 KiB, but with them the kernel falls behind where a progress thread shares a core.
PACKET_SECONDS = 0.000144
SHORTEST_PACKET, LONGEST_PACKET = 4500, 65000
TIMER_SECONDS = 0.00004
LEAST_BURST = 1000
RATE = re.compile(r"(\d{1,6})(kbit|mbit|gbit)")
RATE_BITS = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
HIGHEST_RATE_BITS = 32 * 10**9  # the queueing discipline's rate is a 32-bit number of bytes per second


def bytes_per_second(rate: str) -> int:
    """The bytes per second of a rate such as 2gbit. Raises ValueError with the legal forms."""
    match = RATE.fullmatch(rate)
    bits = int(match.group(1)) * RATE_BITS[match.group(2)] if match else 0
    if not 10**6 <= bits <= HIGHEST_RATE_BITS:
        raise ValueError(f"'{rate}' is not a rate: a whole number of kbit, mbit or gbit, 1mbit to 32gbit, e.g. 2gbit")
    return bits // 8


def packet_bytes(rate: str) -> int:
    """The size of the longest packet, which may be several segments that the kernel handles as one. It takes
    PACKET_SECONDS on the link, within SHORTEST_PACKET and LONGEST_PACKET."""
    return max(SHORTEST_PACKET, min(LONGEST_PACKET, round(bytes_per_second(rate) * PACKET_SECONDS)))


def burst_bytes(rate: str) -> int:
    """The size of the token bucket. The packet that takes its last token passes as a whole."""
    return LEAST_BURST + round(bytes_per_second(rate) * TIMER_SECONDS)


def bucket_bytes(rate: str) -> int:
    """What passes at once after a pause: the content of the bucket, and the packet that takes the last of it."""
    return burst_bytes(rate) + packet_bytes(rate)


def settle_ns(rate: str) -> int:
    """The idle time, in nanoseconds, after which the token bucket is full and a longer pause changes nothing."""
    return math.ceil(bucket_bytes(rate) / bytes_per_second(rate) * 1e9)
