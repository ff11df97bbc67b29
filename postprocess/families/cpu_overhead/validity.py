"""Whether a point is `valid` and `reliable`, and what else a reader should know about it (`flags`).

valid       There are at least 6 valid repetitions (fewer have no interval) and no data error. The times are right.
reliable    Valid, the case did not fail, and
            * the 95 % interval of the CPU share is at most 0.10 wide;
            * the CPU clocks resolve 1 % of the time of a batch;
            * there is a common clock, and its residual is at most 1 % of that, because it is a time between ranks;
            * the ranks are not oversubscribed: ranks that share a core take turns, and the time of the others would
              count as idle;
            * nobody else took the CPU: where the idle share is above 5 %, the process waited more often than it was
              preempted (medians of its voluntary and involuntary context switches). A process that never waits has no
              idle time of its own: other processes had the CPU. Beside a thread of the lowest priority, the kernel
              counts that one's switches, too, and this is not checked.
flags       Worth knowing, but the shares stand:
            * other threads of the process used more than 5 % of the wall time, such as a progress thread;
            * ranks were started by a barrier, or most repetitions began late.
"""

from collections.abc import Iterator

from postprocess.drawing.text import duration, percent
from postprocess.families import sampled
from postprocess.families.cpu_overhead.record import SOAKING, CpuPoint
from postprocess.statistics.cpu_use import cpu_share, idle_share
from postprocess.statistics.metrics import Estimate

WIDEST_INTERVAL = 0.10
RESOLUTION_LIMIT = 0.01
CLOCK_LIMIT = 0.01
TAKEN_LIMIT = 0.05
OTHER_THREADS_LIMIT = 0.05


def unreliable_reasons(point: CpuPoint, share: Estimate, cpu_clock_step_ns: int, *, oversubscribed: bool) -> list[str]:
    """Reasons why the CPU share of a point is not that of its collective. They include `invalid_reasons`.

    share: the estimate of `cpu_share`.
    """
    reasons = sampled.invalid_reasons(point)
    if not point.repetitions:
        return reasons
    wall = sampled.median(point.t_wall_ns)
    reasons += sampled.wide_share(point, "CPU share", share, WIDEST_INTERVAL)
    if cpu_clock_step_ns > RESOLUTION_LIMIT * wall:
        reasons.append(
            f"the CPU clock advances in steps of {duration(cpu_clock_step_ns)}, a batch takes {duration(wall)}"
        )
    reasons += sampled.reasons_of_times(point, CLOCK_LIMIT, wall, oversubscribed=oversubscribed)
    idle = sampled.median(idle_share(point.t_cpu_ns, point.t_wall_ns))
    waits, preempted = sampled.median(point.voluntary_switches), sampled.median(point.involuntary_switches)
    if idle > TAKEN_LIMIT and waits <= preempted and point.way != SOAKING:
        counts = f"in a batch the process waited {waits:.0f} times and was preempted {preempted:.0f} times"
        reasons.append(f"idle for {percent(idle)} of the time, but others had the CPU: {counts}")
    return reasons


def flags(point: CpuPoint) -> Iterator[str]:
    """The flags of a point."""
    if not point.repetitions:
        return
    others = sampled.median(cpu_share(point.t_cpu_ns - point.t_thread_cpu_ns, point.t_wall_ns))
    if others > OTHER_THREADS_LIMIT:
        yield f"other threads of the process used {percent(others)} of the time on a CPU"
    yield from sampled.flags_of_start(point)
