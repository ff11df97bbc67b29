"""The output of a failed launch or build in one sentence: the cause and, where it is known, what to do.

Launchers and libraries tell the cause among banners, advice and consequences, and wrap it in the middle of a sentence.
`KNOWN` has the causes that this project explains in its own words; a root cause comes before its consequences. Any
other message is quoted: its first whole sentence that tells a cause.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from postprocess.drawing.text import clean, short, size
from postprocess.records.remarks import SPEAKER

LONGEST_SENTENCE = 300
LONGEST_MESSAGE = 4000
# Of a longer text, only this many characters at its begin and at its end are searched.
LOOKED_AT = 40_000
LONGEST_LINE = 2_000
# The longest name that is quoted from a message: a path, a list of interfaces.
LONGEST_NAME = 120
# With less of it free, a library may do without shared memory, or may not start.
LITTLE_SHM_BYTES = 64 << 20


@dataclass(frozen=True)
class Cause:
    """Why a launch ended early, without a full stop. known: the words are this project's, not the launcher's."""

    words: str
    known: bool

    @property
    def after_early_end(self) -> str:
        """The words that follow `it ended early`."""
        return f": {self.words}" if self.known else f"; the launcher said: {self.words}"


@dataclass(frozen=True)
class Known:
    """A cause that this project explains in its own words.

    pattern: is searched in the lines of a message without their speaker (`[host:pid]`). A blank also matches the end of
    a line.
    words: may contain the pattern's groups by name (`what2` is a second place for `what`), and `{shm}`, what is known
    about the free space of /dev/shm; `{small}` says that it is little, and is empty where it is not.
    """

    pattern: re.Pattern[str]
    words: str


def _known(pattern: str, words: str) -> Known:
    return Known(re.compile(pattern.replace(" ", r"[ \n]"), re.IGNORECASE), words)


_SHM_TODO = "enlarge it (mount -o remount,size=1G /dev/shm; docker run --shm-size=1g), or use --network wire"
_SHM_SMALL = f"shared memory is too small: /dev/shm{{shm}}; {_SHM_TODO}"
_RANK_SIGNAL = (
    r"(?:signal:? {number}\b|\(signal {number}\)|caught signal {number}\b|signal: [a-z\s]{{1,40}} \({number}\))"
)


def _signal(number: int, words: str) -> Known:
    return _known(_RANK_SIGNAL.format(number=number), words)


_LAUNCHER_PARTS: Sequence[Known] = (
    _known(
        r"execvp error on file (?P<what>srun|qrsh|llspawn\S*|blaunch|aprun|pbs_tmrsh|tmrsh|prun) \(No such file|"
        r"unable to locate a usable \"(?P<what2>srun)\" command|"
        r"\b(?P<what3>srun|qrsh|blaunch|aprun): (?:command )?not found",
        "the launcher starts its ranks with {what}, as in a batch job, and there is no {what} on this machine: leave "
        "the variables of a batch job (SLURM_…, PBS_…) and of a launcher (HYDRA_LAUNCHER, I_MPI_HYDRA_BOOTSTRAP) out",
    ),
    _known(
        r"plm_(?:rsh|ssh)_agent: (?!ssh :)(?P<what>\S{1,200})",
        "the launcher was told to start processes with {what}, and there is no such program",
    ),
    _known(
        r"plm_(?:rsh|ssh)_agent: ssh : rsh|execvp error on file (?:ssh|rsh) \(No such file|"
        r"\b(?:ssh|rsh): (?:command )?not found|no available launching agents were found",
        "there is neither ssh nor rsh on this machine, and the launcher wants one: install ssh (openssh-client)",
    ),
    _known(
        r"task launch for stepid=\S{1,80} failed on node (?P<what>[^\s:]{1,200}):",
        "srun could not start a process on {what}: the node is down, or its slurmd does not answer",
    ),
    _known(
        r"could not resolve hostname (?P<what>[^\s:]{1,200})|"
        r"unable to (?:resolve|get host address for|get host by name) ?:? (?P<what2>[^\s:()]{1,200})",
        "the host {what} is not known: no address belongs to that name",
    ),
    _known(
        r"unable to run bstrap_proxy on (?P<what>\S{1,200})(?:.|\n){0,1500}?\d\. slurm bootstrap cannot launch",
        "Intel MPI's launcher could not start its helper on {what} with srun, as in a batch job: leave SLURM_… "
        "variables and I_MPI_HYDRA_BOOTSTRAP out where there is no srun",
    ),
    _known(
        r"unable to run bstrap_proxy on (?P<what>\S{1,200})(?:(?:.|\n){0,1500}?\d\. \w{1,40} bootstrap cannot launch)?",
        "Intel MPI's launcher could not start its helper on {what}: the host is not reached, or what starts processes "
        "there (ssh, say) is missing or refused",
    ),
    _known(
        r"unrecognized (?:launcher|bootstrap server):? (?P<what>[\w.-]{1,80})|"
        r"unknown bootstrap server:? (?P<what2>[\w.-]{1,80})",
        "the launcher cannot start processes with '{what}': look at HYDRA_LAUNCHER and I_MPI_HYDRA_BOOTSTRAP",
    ),
    _known(
        r"framework: plm component: (?P<what>[\w.-]{1,80})",
        "Open MPI's launcher has no way to start processes that is called '{what}': look at OMPI_MCA_plm and "
        "PRTE_MCA_plm",
    ),
    _known(
        r"orte_plm_base_select failed",
        "Open MPI's launcher found no way to start processes: the one that OMPI_MCA_plm asks for cannot be used here",
    ),
    _known(
        r"detected an attempt to run as root",
        "Open MPI refuses to run as root: set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    ),
    _known(
        r"unable to open (?:the |host)?hostfile:? (?P<what>\S{1,300})|unable to open host file: (?P<what2>\S{1,300})|"
        r"(?P<what3>/\S{1,300}) no such file, or not a regular file",
        "the file with the hosts, {what}, cannot be opened",
    ),
    _known(
        r"unrecognized argument (?P<what>\S{1,100})|unknown option \"(?P<what2>[^\"\n]{1,100})\"|"
        r"unrecognized option was included on the \w+ command line: option: (?P<what3>\S{1,100})",
        "the launcher does not know its option '{what}'",
    ),
)

_PATH_LACKS = "launches lack its folder (--env LD_LIBRARY_PATH gives them this shell's)"

_PROGRAM: Sequence[Known] = (
    _known(
        r"(?P<what>libmpi[\w+.-]{0,60}): cannot open shared object file",
        f"the MPI library {{what}} is not found when the program starts: it was built with another, or {_PATH_LACKS}",
    ),
    _known(
        r"error while loading shared libraries: (?P<what>[^\s:]{1,200}): cannot open shared object file",
        f"the shared library {{what}} is not found when the program starts: {_PATH_LACKS}",
    ),
    _known(
        r"version [`'](?P<what>[^'\n]{1,100})' not found \(required by (?P<by>[^)\n]{1,300})\)",
        f"{{by}} needs the version {{what}} of a shared library, and another one is found: {_PATH_LACKS}",
    ),
    _known(
        r"symbol lookup error: [^\n]{0,300}: undefined symbol: (?P<what>(?:p?mpix?|ompi|mpir)_\w{1,120})",
        "the program runs with another MPI library than the one it was built with, which has no {what}: look at "
        "LD_LIBRARY_PATH and LD_PRELOAD",
    ),
    _known(
        r"symbol lookup error: [^\n]{0,300}: undefined symbol: (?P<what>[\w.@$]{1,120})",
        "the program runs with another library than one it was built with, which has no {what}: look at "
        "LD_LIBRARY_PATH and LD_PRELOAD",
    ),
    _known(
        r"execvp error on file (?P<what>[^\n]{1,300}?) \(Permission denied\)|"
        r"could not access (?:or execute )?an executable: executable: (?P<what2>\S{1,300})|"
        r"via the \"execve\" system call but failed(?:.|\n){0,500}application name: (?P<what3>\S{1,300}) error: "
        r"Permission",
        "the program {what} cannot be executed: it is missing, has no permission to execute, or is no program",
    ),
    _known(
        r"execvp error on file (?P<what>[^\n]{1,300}?) \(No such file|"
        r"unable to find the specified executable file(?:.|\n){0,600}?executable: (?P<what2>\S{1,300})|"
        r"cannot find (?:the )?(?:file|program|executable) (?P<what3>\S{1,300})",
        "there is no program {what}",
    ),
    _known(
        r"execvp error on file (?P<what>[^\n]{1,300}?) \(Exec format error\)",
        "the program {what} is not one of this machine's kind: it was built for another processor, or is no program",
    ),
)

_LIMITS: Sequence[Known] = (
    _known(
        r"too many open files|cannot open shared object file: error 24|(?:^|\n)pipe error",
        "too many files are open: the limit on open files is too small, raise it (ulimit -n)",
    ),
    _known(
        r"pthread_create\(?\)?[^\n]{0,40}resource temporarily unavailable|unable to start listen thread|"
        r"fork[^\n]{0,60}resource temporarily unavailable|cannot fork|pthread_create failed",
        "no more processes or threads can be started: the limit on processes is too small, raise it (ulimit -u)",
    ),
    _known(
        r"unknown error in file \S{0,200}odls_default_module|error sending signal \d{1,3} to process -1",
        "the launcher could not start a process: perhaps the limit on processes is too small, raise it (ulimit -u)",
    ),
)

_PLACES: Sequence[Known] = (
    _known(
        r"invalid value was given for btl_tcp_if_\w{1,20}\.(?:.|\n){0,200}?value: (?P<what>\S{1,120})|"
        r"networks specified to be included for out-of-band communications could be found: value given: "
        r"(?P<what2>\S{1,120})|unable to find interface (?P<what3>\S{1,120})|"
        r"unable to find the interface (?P<what4>\S{1,120})|"
        r"network devices? (?P<what5>'[^\n]{1,100}?) (?:is|are) not available",
        "there is no network interface {what} on this machine: name another, or leave the choice to the library",
    ),
    _known(
        r"no (?:available )?(?:network )?interfaces were found|unable to find network interfaces",
        "the launcher finds no network interface that it may use: the loopback is down, or a variable of the launcher "
        "names interfaces that this machine lacks",
    ),
    _known(
        r"two mutually-exclusive mca variables were specified(?:.|\n){0,200}?1st mca variable: "
        r"(?P<one>\w{1,80})(?:.|\n){0,200}?2nd mca variable: (?P<two>\w{1,80})",
        "{one} and {two} are both set, and exclude each other: leave one out",
    ),
    _known(
        r"not enough space for \S{1,200}(?:.|\n){0,300}?space requested: (?P<asked>\d{1,18}) B space available: "
        r"(?P<left>\d{1,18}) B",
        f"shared memory is too small: a rank needs {{asked}}, and {{left}} are left{{there}}; {_SHM_TODO}",
    ),
    _known(r"not enough space for /dev/shm", _SHM_SMALL),
    _known(
        r"could not stat shared memory device /dev/shm|/dev/shm\S{0,100}: no such file or directory|"
        r"open shared memory object[^\n]{0,200}/dev/shm",
        "there is no shared memory: /dev/shm does not exist; mount it (mount -t tmpfs none /dev/shm), or use "
        "--network wire",
    ),
    _known(
        r"shm_open\([^\n]{0,200}?\) failed: (?P<what>read-only file system|permission denied)|"
        r"/dev/shm\S{0,200}[^\n]{0,80}?(?P<what2>read-only file system|permission denied)",
        "shared memory cannot be written to: /dev/shm: {what}; mount it writable, or use --network wire",
    ),
    _known(
        r"(?:shm_open|ftruncate|fallocate|/dev/shm)[^\n]{0,200}?no space left on device|"
        r"no space left on device[^\n]{0,200}?(?:shm|shared memory)",
        _SHM_SMALL,
    ),
    _known(
        r"transports? (?P<what>'[^\n]{1,100}?) (?:is|are) not available, please use one or more of: "
        r"(?P<others>[^\n]{1,120})",
        "UCX has no transport {what} here, only {others}: look at UCX_TLS",
    ),
    _known(
        r"no usable transports/devices \(asked (?P<what>[^\n]{1,120}?)\)",
        "UCX has no transport that can be used, of those asked for ({what}): look at UCX_TLS and UCX_NET_DEVICES",
    ),
    _known(
        r"getinfo (?:call )?failed|no provider found|getinfo[^\n]{0,60}no data available",
        "libfabric has no provider that can be used of those asked for: look at FI_PROVIDER and FI_PROVIDER_PATH",
    ),
    _known(
        r"ep_enable failed|OFI[^\n]{0,60}(?:tinjectdata|tsend|av_insert|"
        r"tsenddata)[^\n]{0,20}failed[^\n]{0,80}(?:unreachable|no route)",
        "libfabric cannot use the network interface that it was given or chose: look at FI_TCP_IFACE, and at whether "
        "the interface is up",
    ),
    _known(
        r"requested component was not found(?:.|\n){0,500}?framework: (?P<kind>btl|pml|mtl|coll|osc|oob) component: "
        r"(?P<what>[\w.-]{1,80})",
        "Open MPI has no {kind} '{what}': look at OMPI_MCA_{kind} and --mca {kind}",
    ),
    _known(
        r"pml (?P<what>[\w.-]{1,40}) cannot be selected",
        "Open MPI cannot use its pml '{what}' here: look at OMPI_MCA_pml and at what it needs (UCX, libfabric)",
    ),
    _known(
        r"no components were able to be opened in the (?P<what>\w{1,40}) framework",
        "Open MPI can use no {what} of those asked for: look at OMPI_MCA_{what} and at what it needs (UCX, libfabric)",
    ),
    _known(
        r"(?P<what>[\w:+-]{1,60}) fabric is (?:unknown|not available)[^\n]{0,200}",
        "Intel MPI has no fabric '{what}': look at I_MPI_FABRICS",
    ),
)

_ROOM: Sequence[Known] = (
    _known(
        r"not enough slots available in the system to satisfy the (?P<what>\d{1,9}) slots",
        "the launcher has fewer slots than the {what} ranks that are asked for: take fewer ranks, or --oversubscribe",
    ),
    _known(
        r"not enough slots available in the system or not enough cpus in the specified "
        r"pe-list(?:.|\n){0,400}?pe-list: (?P<what>\S{1,120})",
        "the CPUs {what}, which the launcher was told to bind to, are not on this machine",
    ),
    _known(
        r"specified (?:bindto|mapby|binding|mapping) (?:directive|policy) is not recognized: (?:directive|policy): "
        r"(?P<what>\S{1,120})",
        "the launcher does not know '{what}' as a way to bind or map ranks",
    ),
    _known(
        r"unrecognized directive \"(?P<what>[^\"\n]{1,120})\"",
        "the launcher does not know '{what}' as a way to bind or map ranks",
    ),
    _known(
        r"mapping option \"(?P<what>[^\"\n]{1,120})\" larger than total system size",
        "the machine does not have the cores to bind to {what}: ask for fewer cores per rank",
    ),
    _known(
        r"hwloc_set_cpubind failed|hwloc failure binding process|bind process failed",
        "the launcher could not bind a rank to the CPUs it was told: they are not on this machine, or not allowed",
    ),
    _known(
        r"your job failed to map\.(?:.|\n){0,400}?out of resource|found no available cpus on the following node|"
        r"bind(?: to)? that would (?:require|result in) binding (?:processes to more cpus than|more processes than "
        r"cpus)",
        "the machine does not have the cores that the ranks are to be bound to: take fewer ranks or fewer cores per "
        "rank, or --oversubscribe",
    ),
    _known(
        r"failed to parse async thread affinity string \[(?P<what>[^\]\n]{0,120})\]|"
        r"unexpected end of affinity string, [^\n]{0,100}affinity string (?P<what2>\S{0,120})",
        "the library needs one CPU for the progress thread of each rank, and was given too few ('{what}'): look at "
        "MPIR_CVAR_PROGRESS_THREAD_AFFINITY and I_MPI_ASYNC_PROGRESS_PIN",
    ),
    _known(
        r"cannot allocate memory|failed to map segment from shared object|out of memory|oom-kill|"
        r"unable to allocate (?:shared )?memory|bad_alloc|malloc[^\n]{0,20} failed",
        "memory is short: an allocation failed; take fewer ranks or smaller messages, or raise the limit (ulimit -v)",
    ),
    _known(
        r"no space left on device",
        "a disk is full: no space is left on it for what the launcher or a rank writes",
    ),
    _known(
        r"mkdir was unable to create the desired directory: directory: (?P<what>\S{1,300}?)(?:/ompi\.\S{0,100})? "
        r"error: (?P<why>[^\n]{1,80})",
        "the temporary folder {what} cannot be written to ({why}): set TMPDIR to a folder that can",
    ),
    _known(
        r"(?:unix domain|socket) path[^\n]{0,60}too long|path[^\n]{0,60}exceeds[^\n]{0,40}sun_path|"
        r"file name too long|unix:[^\n]{0,200}too long",
        "the path of the temporary folder is too long for a socket: set TMPDIR to a shorter one, /tmp say",
    ),
)

_TIME: Sequence[Known] = (
    _known(
        r"time limit for job execution has been reached: timeout: (?P<what>\d{1,9}) seconds|"
        r"application timed out, timeout = (?P<what2>\d{1,9})s|I_MPI_JOB_TIMEOUT = (?P<what3>\d{1,9}) second",
        "the launcher's own time limit of {what} s was over: leave MPIEXEC_TIMEOUT, I_MPI_JOB_TIMEOUT and --timeout "
        "out, or make it longer",
    ),
    _known(
        r"(?:application|job) (?:timed out|ended due to[^\n]{0,20}timeout)",
        "the launcher's own time limit was over: leave MPIEXEC_TIMEOUT, I_MPI_JOB_TIMEOUT and --timeout out, or make "
        "it longer",
    ),
)

# A line of MPICH's error stack, up to its colon: where it was called.
_CALLED = r"(?:\w{1,80}\(\d{1,6}\)\.{0,60}|\(unknown\)\(\)):"

_ENDS: Sequence[Known] = (
    _known(
        r"destination is unreachable|no active messages transport to|"
        r"pair of mpi processes are unable to reach each other|mpi process is unreachable from another|"
        r"network is unreachable",
        "the ranks cannot reach each other: no transport that was asked for connects them; look at UCX_TLS, "
        "FI_PROVIDER and OMPI_MCA_btl, and at whether the network interface is up{small}",
    ),
    _known(
        r"fatal error in (?:p?mpi_|internal_)?(?P<call>\w{1,60}): (?:other mpi error|(?P<kind>[^\n]{1,99}?)), "
        r"error stack:"
        rf"(?:\n{_CALLED}[^\n]{{0,500}}){{0,40}}?\n{_CALLED}\x20?(?P<what>[^\n]{{1,200}})(?=\n(?!{_CALLED})|\Z)",
        "MPI_{call} failed: {told}",
    ),
    _known(
        r"an error occurred in (?P<call>MPI_\w{1,60})(?:.|\n){0,200}?(?P<kind>MPI_ERR_\w{1,40}): "
        r"(?P<what>[^\n]{1,100})",
        "{call} failed: {kind}, {what}",
    ),
    _signal(
        7,
        f"a rank was ended by SIGBUS, which nearly always is shared memory that is full: /dev/shm{{shm}}; {_SHM_TODO}",
    ),
    _signal(11, "a rank was ended by SIGSEGV: a program or its library used memory that it does not have{small}"),
    _signal(4, "a rank was ended by SIGILL: the program or its library was built for another processor"),
    _signal(8, "a rank was ended by SIGFPE: an arithmetic error, such as a division by zero"),
    _signal(24, "a rank was ended by SIGXCPU: its limit of CPU time is over, raise it (ulimit -t)"),
    _signal(25, "a rank was ended by SIGXFSZ: a file grew beyond the limit, raise it (ulimit -f)"),
    _known(
        r"mpi_abort was invoked on rank (?P<rank>\d{1,9})(?:.|\n){0,200}?errorcode: (?P<what>-?\d{1,12})|"
        r"application called mpi_abort\([^,\n]{1,60}, (?P<what2>-?\d{1,12})\) - process (?P<rank2>\d{1,9})",
        "rank {rank} called MPI_Abort with the code {what}",
    ),
    _known(
        r"abort\((?P<what>-?\d{1,12})\) on node (?P<rank>\d{1,9})",
        "rank {rank} called MPI_Abort with the code {what}",
    ),
    _signal(2, "a rank was ended by SIGINT: somebody or something interrupted it"),
    _signal(1, "a rank was ended by SIGHUP: the terminal or session that started it was closed"),
    _known(
        r"process rank (?P<rank>\d{1,9}) with pid \d{1,9} on node \S{1,200} exiting improperly",
        "rank {rank} ended without MPI_Finalize",
    ),
)

_BARE_ENDS: Sequence[Known] = (
    _signal(6, "a rank was ended by SIGABRT: the program or its library gave up"),
    _known(
        r"an error occurred in (?P<call>MPI_\w{1,60})",
        "{call} failed, and the library does not say why",
    ),
    _known(
        r"exited with non-zero status(?:.|\n){0,300}?exit code: (?P<what>\d{1,6})",
        "a rank ended with exit code {what}, and said nothing",
    ),
    _signal(15, "a rank was ended by SIGTERM: something asked it to end, such as a batch system or a time limit"),
    _known(
        r"process rank (?P<rank>\d{1,9}) with pid \d{1,9} on node (?P<host>\S{1,200}) exited on signal 9\b",
        "rank {rank} on {host} was killed (SIGKILL): perhaps memory was short, or a batch system ended it, or its "
        "launcher did because another rank had ended",
    ),
    _known(
        r"pid \d{1,9} running at (?P<host>[^\s=]{1,200})(?:.|\n){0,300}?(?:exit code: 9\b|signal: 9\b|\(signal 9\))",
        "a rank on {host} was killed (SIGKILL): perhaps memory was short, or a batch system ended it, or its launcher "
        "did because another rank had ended",
    ),
    _signal(
        9,
        "a rank was killed (SIGKILL): perhaps memory was short, or a batch system ended it, or its launcher did "
        "because another rank had ended",
    ),
    _known(
        r"peer process has unexpectedly disconnected(?:.|\n){0,1000}?peer host: (?P<host>\S{1,200})|"
        r"peer: (?P<host2>\S{1,200}) mca_btl_tcp_frag_\w{1,9}: \w{1,9} failed",
        "a rank lost its connection to one on {host}: that rank ended early, or the network between them failed",
    ),
    _known(
        r"assert \(!closed\) failed",
        "the launcher lost the helper that starts its ranks: it was killed, or crashed",
    ),
    _known(
        r"downstream from host (?P<what>\S{1,200}) exited abnormally",
        "the launcher lost the helper that starts its ranks on {what}: it was killed, or crashed",
    ),
    _known(
        r"ORTE_ERROR_LOG: [^\n]{1,100} in file \S{0,200}show_help\.c",
        "Open MPI's launcher lost the message that a rank had for it, and so the cause",
    ),
)
"""Causes that only say how a rank ended. They are used where a message tells nothing else."""

# What bash says when what it started, a launcher, was ended by a signal.
_LAUNCHER_ENDS: Sequence[Known] = (
    _known(
        r"\bline \d+: +\d+ bus error",
        "the launcher itself was ended by SIGBUS: the folder for temporary files (TMPDIR, else /tmp) is full, or "
        "/dev/shm is, which{shm}: free some space there",
    ),
    _known(
        r"\bline \d+: +\d+ (?P<what>segmentation fault|killed|aborted|file size limit exceeded)\b",
        "the launcher itself was ended: {what}",
    ),
)

KNOWN: Sequence[Known] = (*_LAUNCHER_PARTS, *_LIMITS, *_PROGRAM, *_PLACES, *_ROOM, *_TIME, *_ENDS, *_LAUNCHER_ENDS)
"""The known causes in the order in which they are searched: a cause comes before its consequences."""

# What may stand before the words too: UCX's place and severity, Open MPI's name of a process, a rank's number.
_BEFORE_WORDS = re.compile(r"[\w.-]{1,60}:\d+ +UCX +\w{4,5} +|\[\[[^\]]{1,40}\],[^\]]{1,20}\] |\[\d{1,7}\] ")
# Where in its sources a launcher speaks from.
_SOURCE = re.compile(r"[\w:~]{1,80} \([^()\s]{1,300}:\d{1,6}\): ")
_FRAME = re.compile(r"[\s*=#~+_-]*")
# Between two columns of a benchmark's table: more than a blank. Some write two blanks between sentences.
_GAP = re.compile(r"(?<=[^\s.:;!?,]) {2,}(?=\S)")
# Of a library: what it does when all is well. Of a shell: that it does without the locale that it was asked for. Of
# srun: that Slurm binds nothing, which it was told not to do.
_IN_GOOD_ORDER = re.compile(
    r"\S{1,80}: (?:line \d+: )?warning: setlocale: LC_|srun: cluster configuration lacks support for cpu binding|"
    r"(?:\[\d{1,7}\] )?MPI startup\(\): (?!.*(?:unknown|not supported|error|fail))|# |\[warn\] "
)
# Sentences that tell no cause: frames, what follows from a cause, advice, and what is said of every end.
_BANNER = re.compile(
    "|".join(
        (
            # frames, stacks, and what every end is told with
            r"bad termination", r"\bpid \d+ running at",
            r"^(?:exit code|killed by signal|cleaning up|you can ignore)\b",
            r"your application terminated", r"exited on signal", r"backtrace", r"\[0x[0-9a-f]{1,16}\]$",
            r"end of error message", r"process received signal", r"^signal(?: code)?:", r"^failing at address",
            r"(?:mpirun|mpiexec|prterun) (?:noticed|has exited|detected)", r"primary job +terminated",
            r"a non-zero exit code", r"per user-direction", r"the first process to do so was", r"^error stack",
            r"^abort\(-?\d+\)", r"forwarding signal", r"total processes failed to start", r"force-terminate",
            # what follows from a cause
            r"setpgid\(.{1,30}\) failed", r"it looks like \w+ failed for some reason", r"this failure appears",
            r"your (?:mpi|parallel) ",
            r"^an error occurred in (?:MPI_|socket closed)", r"mpi_errors_are_fatal", r"mpi will try",
            r"^reported by process", r"^on (?:a null )?communicator", r"unknown error$", r"local abort before",
            r"the job will now be aborted", r"an internal error has occurred", r"ORTE_ERROR_LOG", r"PMIX ERROR",
            r"PRTE ERROR", r"callback returned error", r"error waiting for", r"process manager (?:error|returned)",
            r"^sock write error", r"unable to (?:write data|send signal|parse user|set process topology)",
            r"(?:argument matching|match handler|launch_procs|create process) returned",
            r"error parsing (?:input|parameters|hostfile)", r"error setting up the bootstrap", r"assert \(!closed\)",
            r"downstream from host", r"trying to close other", r"peer process has unexpectedly disconnected",
            r"one of the processes terminated badly", r"mca_btl_tcp_frag_\w{1,9}: \w{1,9} failed",
            r"will likely now behave unpredictably",
            # advice, and what may be
            r"please (?:see|check|either|revise|use|verify|adjust|note|review)", r"^you (?:can|may)", r"^note:",
            r"this (?:typically|usually)", r"such peer hangups",
            r"there are (?:many|three) reasons", r"this may have caused", r"it is likely that",
            r"this error (?:can|may)", r"this is an unusual", r"this is something that", r"^possible reasons",
            r"^\d{1,2}\.(?: |$)", r"in this case, the run-time", r"^local host:", r"set mca parameter",
            r"more process(?:es)? ha", r"sorry! +you were supposed", r"but i couldn.t find that topic",
            r"from the file:",
        )
    ),
    re.IGNORECASE,
)  # fmt: skip
_TELLING = re.compile(
    r"signal|killed|cannot|could not|couldn.t|can.t|unable|not found|no such|error|abort|denied|fail|invalid|refuse|"
    r"missing|not (?:recognized|available|supported|enough|allowed)|exceed|too (?:many|long|small|few|large)|unknown|"
    r"unreachable|\blost\b|tim(?:ed|e) ?out|mismatch|incompatible|exhausted|crash",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z\"'(\[/])")


def of_launch(text: str, shm_free_bytes: int | None = None) -> Cause | None:
    """Why a launch ended early, by its standard error and output; None where they do not tell.

    shm_free_bytes: free space of /dev/shm where it ran, the least of all nodes; None where that is not known.
    """
    lines = _lines(text)
    plain = "\n".join(dict.fromkeys(line for line in lines if line))
    sentences = [
        sentence for sentence in _sentences(lines) if not _BANNER.search(sentence) and re.search(r"\w", sentence)
    ]
    telling = next(filter(_TELLING.search, sentences), "")
    if known := _first(KNOWN, plain, shm_free_bytes):
        return known
    bare = None if telling else _first(_BARE_ENDS, plain, shm_free_bytes)
    quoted = telling or (sentences or [""])[-1]
    return bare or (Cause(_at_a_word(quoted.rstrip(" .:,;-")), known=False) if quoted else None)


def _first(known: Sequence[Known], plain: str, shm_free_bytes: int | None) -> Cause | None:
    for candidate in known:
        if match := candidate.pattern.search(plain):
            return Cause(_in_words(candidate.words, match, shm_free_bytes), known=True)
    return None


def of_program(text: str, programs: Sequence[str]) -> list[str]:
    """The lines that programs of this project wrote themselves, if they tell more than an exit code."""
    begins = tuple(f"{program}: " for program in programs)
    lines = (line.strip() for line in text.splitlines() if line.lstrip().startswith(begins))
    return [_at_a_word(line) for line in lines if not re.search(r": exit code \d+$", line)]


def complaint(text: str, programs: Sequence[str], exit_code: int, shm_free_bytes: int | None = None) -> str:
    """Why a launch ended with an exit code: the first line of one of these programs, else the cause in the rest."""
    if from_programs := of_program(text, programs):
        return from_programs[0]
    cause = of_launch(text, shm_free_bytes)
    return cause.words if cause else f"it ended with exit code {exit_code} and said nothing"


def message(text: str) -> str:
    """An output for people: without control characters and repeated lines, shortened in the middle."""
    lines = (clean(line.expandtabs(8)).rstrip() for line in text.replace("\0", "").splitlines())
    without_repetition = [line for line, _same in groupby(line for line in lines if not line.startswith("# "))]
    whole = "\n".join(without_repetition).strip("\n")
    if len(whole) <= LONGEST_MESSAGE:
        return whole
    half = (LONGEST_MESSAGE - len(_LEFT_OUT)) // 2
    return f"{whole[:half]}{_LEFT_OUT}{whole[-half:]}"


_LEFT_OUT = "\n… (the log has the rest) …\n"


def of_build(text: str) -> str:
    """Why a build failed: what CMake did not find, or the first error of a compiler or linker; "" for an empty text."""
    output = _bounded(text)
    if (error := _cmake_error(output)) or (error := _compiler_error(output)):
        return error
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)]
    telling = [line for line in lines if _TELLING.search(line)]
    return _at_a_word(next(iter(errors or telling or lines[-1:]), ""))


def _cmake_error(output: str) -> str:
    """The first sentence of CMake's first error, which it indents and wraps."""
    match = re.search(r"^CMake Error(?: at [^\n]{1,500}? \(\w{1,60}\)| in [^\n]{1,500}|): ?", output, re.MULTILINE)
    if match is None:
        return ""
    rest = output[match.end() : match.end() + LOOKED_AT].split("\n")
    body = [rest[0].strip()] if rest[0].strip() else []
    for line in rest[1:]:
        if line[:1].strip():  # not indented: the message is over
            break
        body.append(line.strip())
    sentences = _SENTENCE_END.split(" ".join(" ".join(body).split()))
    first = next(
        (sentence for sentence in sentences if re.match("Could not find", sentence, re.IGNORECASE)), sentences[0]
    )
    first = re.sub(r" with any of the following names: .*", "", first).rstrip(".")
    if "simple test program" in first and (why := _compiler_error(output)):
        return _at_a_word(f"{first}: {why}")
    # Before it gives up on a package, CMake says what it misses in a part of it: for MPI, in MPI_C.
    package = re.match(r"Could NOT find (\w{1,60}) \(missing", first)
    parts = rf"^-- (Could NOT find {package[1]}_\w{{1,60}} \(missing: [^)\n]{{1,300}}\))" if package else r"(?!)"
    part = re.search(parts, output, re.MULTILINE)
    return _at_a_word(part[1] if part else first)


def _compiler_error(output: str) -> str:
    """The first error of a compiler, else of the linker."""
    errors = re.search(
        r"^(?! *(?:collect2: |clang: error: linker))[^\n]{0,1000}?\berror: [^\n]{1,1000}", output, re.MULTILINE
    )
    if errors:
        return _at_a_word(errors[0].strip())
    undefined = re.search(r"undefined reference to [`'](?P<what>[^'\n]{1,300})'", output)
    if undefined:
        return _at_a_word(f"the linker found no {undefined['what']}: undefined reference, a library is missing")
    missing = re.search(r"cannot find (?P<what>-l[^\s:]{1,200}|[^\s:]{1,200}\.o)\b", output)
    return _at_a_word(f"the linker cannot find {missing['what']}") if missing else ""


def _bounded(text: str) -> str:
    """The begin and the end of a text."""
    return text if len(text) <= 2 * LOOKED_AT else f"{text[:LOOKED_AT]}\n{text[-LOOKED_AT:]}"


def _is_row(line: str) -> bool:
    """Whether a line is one of a table, in which nobody speaks: it has at least three columns. A line that begins with
    a bracket is UCX's, which writes two blanks after its place."""
    return line[:1] not in ("", "[") and len(_GAP.findall(line)) >= 2


def _lines(text: str) -> list[str]:
    """The lines without speakers, frames and tables. Empty lines separate paragraphs, and lines that stand alone."""
    cleaned: list[str] = []
    for raw in _bounded(text).replace("\0", "").splitlines():  # Open MPI 5 ends its banners with one
        if _is_row(raw[:LONGEST_LINE].strip()):
            cleaned.append("")
            continue
        line = " ".join(clean(raw[:LONGEST_LINE]).split())
        if _IN_GOOD_ORDER.match(line):
            continue
        speaker = SPEAKER.match(line)
        line = line[speaker.end() :].lstrip() if speaker else line
        before = _BEFORE_WORDS.match(line)
        line = line[before.end() :] if before else line
        framed = re.match(r"=(?= )|\*\*\*(?= )", line)
        line = line[framed.end() :].strip() if framed else line
        source = _SOURCE.match(line)
        if _FRAME.fullmatch(line):
            cleaned.append("")
        elif speaker or before or framed or source:
            cleaned += ["", line[source.end() :] if source else line, ""]
        else:
            cleaned.append(line)
    return cleaned


def _sentences(lines: Iterable[str]) -> Iterator[str]:
    """The sentences of wrapped lines. A sentence that ends in a colon goes on in the next paragraph."""
    begun = ""
    for some, paragraph in groupby(lines, key=bool):
        if not some:
            continue
        text = " ".join([begun, *paragraph]).strip()
        if text.endswith(":") and not begun:
            begun = text
            continue
        begun = ""
        yield from _SENTENCE_END.split(text)
    if begun:
        yield from _SENTENCE_END.split(begun)


def _in_words(words: str, match: re.Match[str], shm_free_bytes: int | None) -> str:
    """The words, filled with what the pattern matched and what is known about /dev/shm."""
    values: dict[str, str] = {}
    for group, value in match.groupdict().items():
        name = group.rstrip("0123456789")
        values[name] = values.get(name) or short(value or "", LONGEST_NAME).replace("'", "").rstrip(" .:,;")
    has = f" has {size(shm_free_bytes)} free" if shm_free_bytes else " is full or small"
    values["shm"] = has
    values["there"] = f" in /dev/shm{f', which has {size(shm_free_bytes)} free' if shm_free_bytes else ''}"
    kind, what = values.get("kind", ""), values.get("what", "")
    values["told"] = what if what.lower().startswith(kind.lower()) else f"{kind}, {what}"
    little = shm_free_bytes if shm_free_bytes is not None and shm_free_bytes < LITTLE_SHM_BYTES else None
    values["small"] = "" if little is None else f"; or /dev/shm has too little space, {size(little)} free"
    for name in ("asked", "left"):
        values[name] = size(int(values[name])) if values.get(name) else ""
    return _at_a_word(words.format_map(values))


def _at_a_word(text: str) -> str:
    """A printable line. A line that is too long is cut at a word and ends with an ellipsis."""
    line = " ".join(clean(text[: 4 * LONGEST_SENTENCE]).split())
    if len(line) <= LONGEST_SENTENCE:
        return line
    cut = line[: LONGEST_SENTENCE - 1]
    whole = cut.rpartition(" ")[0].rstrip(" ,;:")
    return f"{whole or cut}…"
