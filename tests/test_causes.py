"""Why a launch or a build ended early, in one sentence: held against what libraries, launchers and compilers said.

`tests/data/launcher_messages/<library>/` has what real libraries said when they were made to fail, each message once;
only hosts, process ids and paths were replaced. `expected.txt` beside them has the sentence for each.
"""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpi_campaign import ROOT
from mpi_campaign.children import causes

LAUNCHES = ROOT / "tests" / "data" / "launcher_messages"
BUILDS = ROOT / "tests" / "data" / "build_messages"
LIBRARIES = ("openmpi-5.0.11", "openmpi-4.1.8", "mpich-5.0.2", "intel-2021.18.1")

BANNERS = (
    "====", "----", "****", "BAD TERMINATION", "Primary job", "noticed that", "has exited due to", "YOU CAN IGNORE",
    "RUNNING AT", "MPI_ERRORS_ARE_FATAL", "help message", "[node7", "@node7]",
)  # fmt: skip
# What a sentence does not end with: it would go on.
UNFINISHED = re.compile(r"[:,;(\[/=-]$|\b(?:a|an|and|as|be|by|for|in|is|not|of|or|that|the|to|was|were|with|will)$")


def expected(folder: Path) -> dict[str, str]:
    """{name of the file: the sentence}, of every message in a folder."""
    lines = (folder / "expected.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines)


def check_sentence(line: str) -> None:
    """It is one line, bounded, and no fragment, which begins or ends in the middle; nor is it a banner."""
    assert line == line.strip()
    assert line.isprintable()
    assert 8 < len(line) <= causes.LONGEST_SENTENCE
    assert re.match(r"[A-Za-z/]", line)
    assert not UNFINISHED.search(line)
    assert line.count("(") == line.count(")")
    assert line.count('"') % 2 == 0
    assert not any(banner in line for banner in BANNERS)


@pytest.mark.parametrize(
    ("library", "name", "sentence"),
    [(library, name, line) for library in LIBRARIES for name, line in expected(LAUNCHES / library).items()],
)
def test_a_real_message_of_a_launch_gives_a_whole_sentence(library: str, name: str, sentence: str) -> None:
    cause = causes.of_launch((LAUNCHES / library / name).read_text(encoding="utf-8"))
    assert cause is not None
    assert cause.words == sentence
    check_sentence(cause.words)


@pytest.mark.parametrize("library", LIBRARIES)
def test_twenty_messages_of_each_library_are_there_and_each_has_its_sentence(library: str) -> None:
    folder = LAUNCHES / library
    names = {path.name for path in folder.iterdir()} - {"expected.txt"}
    assert set(expected(folder)) == names
    assert len(names) >= 20


@pytest.mark.parametrize(("name", "sentence"), expected(BUILDS).items())
def test_a_real_message_of_a_build_gives_a_whole_sentence(name: str, sentence: str) -> None:
    line = causes.of_build((BUILDS / name).read_text(encoding="utf-8"))
    assert line == sentence
    check_sentence(line)


def told(text: str, shm_free_bytes: int | None = None) -> str:
    cause = causes.of_launch(text, shm_free_bytes)
    return cause.words if cause else ""


def test_the_free_space_of_shared_memory_is_told_where_it_is_known() -> None:
    died = "mpiexec noticed that process rank 0 with PID 7 on node node7 exited on signal 7 (Bus error).\n"
    assert "/dev/shm has 64 MiB free; enlarge it" in told(died, 64 << 20)
    assert "/dev/shm is full or small; enlarge it" in told(died)
    assert "--network wire" in told(died)


def test_a_launcher_that_was_ended_itself_is_told_and_not_the_line_of_the_script() -> None:
    died = "/opt/clone/.campaign/rfm_job.sh: line 10: 26854 {} mpiexec -n 2 --bind-to none nbc_overlap --metadata x\n"
    assert told(died.format("Bus error")).startswith(
        "the launcher itself was ended by SIGBUS: the folder for temporary"
    )
    assert told(died.format("Segmentation fault")) == "the launcher itself was ended: Segmentation fault"


def test_a_locale_that_is_not_there_is_no_cause() -> None:
    said = "/bin/bash: warning: setlocale: LC_ALL: cannot change locale (de_XX.UTF-8)\nThe cauldron could not be lit.\n"
    assert told(said) == "The cauldron could not be lit"


def test_that_slurm_binds_nothing_is_no_cause() -> None:
    said = "srun: cluster configuration lacks support for cpu binding\nsrun: error: Unable to create step for job 1\n"
    assert told(said) == "srun: error: Unable to create step for job 1"


def test_ranks_without_a_way_to_each_other_are_told_of_shared_memory_only_where_it_is_small() -> None:
    said = "At least one pair of MPI processes are unable to reach each other for\nMPI communications.\n"
    assert "or /dev/shm has too little space, 1 MiB free" in told(said, 1 << 20)
    assert "/dev/shm" not in told(said, 1 << 30)
    assert "/dev/shm" not in told(said)


@pytest.mark.parametrize(
    "died",
    [
        "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)\n",
        "=   RANK 0 PID 7 RUNNING AT node7\n=   KILLED BY SIGNAL: 11 (Segmentation fault)\n====\n",
    ],
)
def test_a_rank_that_used_memory_that_it_did_not_have_is_told_of_shared_memory_only_where_it_is_small(
    died: str,
) -> None:
    """MPICH 5.0.2 ends so with 16 MiB."""
    assert told(died, 16 << 20).endswith("; or /dev/shm has too little space, 16 MiB free")
    assert told(died, 0).endswith("; or /dev/shm has too little space, 0 B free")
    assert "/dev/shm" not in told(died, 1 << 30)
    assert "/dev/shm" not in told(died)


def test_a_root_is_told_and_not_what_follows_from_it() -> None:
    root = "sh: 1: srun: not found\n"
    follows = "At least one pair of MPI processes are unable to reach each other.\nKILLED BY SIGNAL: 9 (Killed)\n"
    assert told(follows + root) == told(root)


def test_a_rank_that_ended_first_outweighs_those_that_its_launcher_killed() -> None:
    ends = [
        f"=   RANK {rank} PID 7 RUNNING AT node7\n=   KILLED BY SIGNAL: {n}\n====\n" for rank, n in ((0, 9), (1, 11))
    ]
    assert "SIGSEGV" in told("".join(ends))


def test_a_sentence_that_is_not_known_is_quoted_whole_though_it_is_wrapped() -> None:
    said = (
        "----------\nThe frobnicator of this library could not be\nstarted, because its cauldron is cold.  Please see\n"
        "the manual.\n----------\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code.\n"
    )
    cause = causes.of_launch(said)
    assert cause is not None
    words = "The frobnicator of this library could not be started, because its cauldron is cold"
    assert (cause.words, cause.known) == (words, False)
    assert cause.after_early_end == f"; the launcher said: {words}"


def test_what_a_sentence_announces_belongs_to_it() -> None:
    said = "The cauldron could not be found:\n\n  /opt/cauldron\n\nCheck the path.\n"
    assert told(said) == "The cauldron could not be found: /opt/cauldron"


def test_the_zeros_that_open_mpi_ends_its_banners_with_are_no_part_of_a_sentence() -> None:
    said = f"{'-' * 74}\nThe cauldron is unknown.\n{'-' * 74}\n\0{'-' * 74}\nThe cat is unknown.\n{'-' * 74}\n\0"
    assert told(said) == "The cauldron is unknown"
    assert told(said.partition("\0")[2]) == "The cat is unknown"
    assert "\N{REPLACEMENT CHARACTER}" not in causes.message(said)


def test_a_rank_that_says_why_it_gives_up_outweighs_how_it_ended() -> None:
    said = "p: foo.c:3: main: Assertion `n > 0' failed.\nKILLED BY SIGNAL: 6 (Aborted)\n"
    assert told(said) == "p: foo.c:3: main: Assertion `n > 0' failed"


def test_a_connection_that_broke_is_told_only_where_no_rank_is_known_to_have_ended() -> None:
    broke = (
        "[node1][[17071,1],0][btl_tcp_frag.c:127:mca_btl_tcp_frag_send] peer: node2 mca_btl_tcp_frag_send: writev "
        "failed: Connection reset by peer (104)\n"
    )
    died = "prterun noticed that process rank 1 with PID 7 on node node2 exited on signal 9 (Killed).\n"
    assert told(broke).startswith("a rank lost its connection to one on node2: that rank ended early, or the network")
    assert told(broke + died).startswith("rank 1 on node2 was killed (SIGKILL)")


def test_what_says_nothing_of_a_cause_gives_none() -> None:
    for said in ("", "\n \n", "=====\n", "# calibrated ibcast for 8 ms\n", "[0] MPI startup(): libfabric loaded\n"):
        assert causes.of_launch(said) is None


def test_a_table_of_a_benchmark_is_nothing_that_the_launcher_said() -> None:
    table = (
        "# medians; +-: half of the widest 95 % interval of those that are measured until theirs is narrow\n"
        "  collective comm_target_ns t_measured_ns  reps  stop\n"
        "      ibcast        8000000        123456    12  interval (+-0.5%) late:3\n"
        "      ibcast       16000000             -     0  budget WRONG-DATA\n"
    )
    assert causes.of_launch(table) is None
    assert told(f"{table}The cauldron is cold.\n") == "The cauldron is cold"
    assert told(f"The cauldron failed.\n{table}") == "The cauldron failed"
    peer = "# Size   Avg Latency(us)   Overlap(%)\n1024    12.34   56.70\n"
    assert causes.of_launch(peer) is None


def test_a_sentence_that_is_too_long_ends_at_a_word() -> None:
    line = told("it failed because of " + "reasons and " * 90)
    assert len(line) <= causes.LONGEST_SENTENCE
    assert re.search(r"(?:reasons|and)…$", line)


def test_a_program_of_ours_has_the_word_before_the_launcher() -> None:
    said = "srun: not found\nnbc_overlap: rank 1: no memory\nwire: the link is down\n"
    assert causes.complaint(said, ("nbc_overlap",), 1) == "nbc_overlap: rank 1: no memory"
    assert causes.complaint(said, ("timing_selfcheck",), 1) == told(said)
    assert causes.complaint("", ("nbc_overlap",), 7) == "it ended with exit code 7 and said nothing"


# What text can be made of: pieces of real messages and of patterns, control characters, and anything.
PIECES = st.sampled_from(
    [
        "CMake Error at x:1 (message):\n  Could not find\n", "Fatal error in internal_Send: x, error stack:\nfoo(1): ",
        "not enough space for /dev/shm", "[node7:1:2] ", "[1700000000.1] [n:1:0] a.c:1 UCX  ERROR ", "=   ", "*** ",
        "error: ", "signal 7", "{shm}", "{", "%s", "\n", "\r", "\x00", "\x1b[31m", "\u2028", "\u202e", "é", ". ", ": ",
        "execvp error on file ", "-----\n", "(No such file", "exit code 9", "\N{REPLACEMENT CHARACTER}", "x" * 3000,
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=400),
    st.binary(max_size=400).map(lambda some: some.decode(errors="replace")),
    st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=40).map("".join),
)


@given(TEXTS, st.none() | st.integers(0, 1 << 62))
def test_any_text_gives_one_bounded_printable_line(text: str, shm_free_bytes: int | None) -> None:
    cause = causes.of_launch(text, shm_free_bytes)
    lines = [cause.words] if cause else []
    assert not cause or cause.words
    lines += [causes.of_build(text), causes.complaint(text, ("nbc_overlap",), 1, shm_free_bytes)]
    for line in lines:
        assert line.isprintable()
        assert len(line) <= causes.LONGEST_SENTENCE
    whole = causes.message(text)
    assert len(whole) <= causes.LONGEST_MESSAGE
    assert whole.replace("\n", "").isprintable()


@settings(max_examples=15, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=12)), min_size=1, max_size=6).map("".join).filter(bool))
def test_megabytes_give_a_bounded_line_too(piece: str) -> None:
    text = (piece * (2_000_000 // len(piece) + 1))[:2_000_000]
    assert len(told(text)) <= causes.LONGEST_SENTENCE
    assert len(causes.of_build(text)) <= causes.LONGEST_SENTENCE
    assert len(causes.message(text)) <= causes.LONGEST_MESSAGE


def test_of_a_text_of_megabytes_the_begin_and_the_end_are_looked_at() -> None:
    chatter = "".join(f"{number} of many\n" for number in range(200_000))
    for said in (f"srun: not found\n{chatter}", f"{chatter}srun: not found\n"):
        assert told(said) == told("srun: not found\n")


def test_a_message_has_its_begin_and_its_end() -> None:
    said = "\n".join(["# calibrated ibcast", "first", *(f"line {number}" for number in range(2000)), "last"])
    whole = causes.message(said)
    assert whole.startswith("first\nline 0\n")
    assert whole.endswith("line 1999\nlast")
    assert "the log has the rest" in whole
    assert causes.message("same\nsame\nother\nsame\n") == "same\nother\nsame"


def test_a_node_whose_slurmd_is_gone_is_named() -> None:
    said = (
        "srun: cluster configuration lacks support for cpu binding\n"
        "srun: error: Task launch for StepId=1.5 failed on node node2: Communication connection failure\n"
        "srun: error: Application launch failed: Communication connection failure\n"
    )
    assert told(said) == "srun could not start a process on node2: the node is down, or its slurmd does not answer"
