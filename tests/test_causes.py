"""Why a launch or a build ended early, in one sentence: `data/messages.yaml` has what was said, and the sentence."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mpi_campaign import ROOT
from mpi_campaign.children import causes

MESSAGES = yaml.safe_load((ROOT / "tests" / "data" / "messages.yaml").read_text(encoding="utf-8"))


def told(text: str, shm_free_bytes: int | None = None) -> str:
    cause = causes.of_launch(text, shm_free_bytes)
    return cause.words if cause else ""


@pytest.mark.parametrize(
    ("text", "sentence"), [(message["text"], message["cause"]) for message in MESSAGES["launches"]]
)
def test_what_a_launch_said_gives_its_cause(text: str, sentence: str) -> None:
    assert told(text) == sentence


@pytest.mark.parametrize(("text", "sentence"), [(message["text"], message["cause"]) for message in MESSAGES["builds"]])
def test_what_a_build_said_gives_its_cause(text: str, sentence: str) -> None:
    assert causes.of_build(text) == sentence


def test_the_free_space_of_shared_memory_is_told_where_it_is_known() -> None:
    died = "mpiexec noticed that process rank 0 with PID 7 on node node7 exited on signal 7 (Bus error).\n"
    assert "/dev/shm has 64 MiB free; enlarge it" in told(died, 64 << 20)
    assert "/dev/shm is full or small; enlarge it" in told(died)
    assert "--network wire" in told(died)


def test_ranks_without_a_way_to_each_other_are_told_of_shared_memory_only_where_it_is_small() -> None:
    said = "At least one pair of MPI processes are unable to reach each other for\nMPI communications.\n"
    assert "or /dev/shm has too little space, 1 MiB free" in told(said, 1 << 20)
    assert "/dev/shm" not in told(said, 1 << 30)
    assert "/dev/shm" not in told(said)


def test_a_rank_that_used_memory_that_it_did_not_have_is_told_of_shared_memory_only_where_it_is_small() -> None:
    """MPICH 5.0.2 ends so with 16 MiB."""
    died = "=   RANK 0 PID 7 RUNNING AT node7\n=   KILLED BY SIGNAL: 11 (Segmentation fault)\n====\n"
    assert told(died, 16 << 20).endswith("; or /dev/shm has too little space, 16 MiB free")
    assert told(died, 0).endswith("; or /dev/shm has too little space, 0 B free")
    assert "/dev/shm" not in told(died, 1 << 30)


def test_a_sentence_that_is_not_known_is_quoted() -> None:
    cause = causes.of_launch("The cauldron could not be lit, because it is " + "so very " * 90 + "cold")
    assert cause is not None
    assert cause.after_early_end.startswith("; the launcher said: The cauldron could not be lit")
    assert cause.words.endswith(("so…", "very…"))


def test_the_zeros_that_open_mpi_ends_its_banners_with_are_no_part_of_a_sentence() -> None:
    said = f"{'-' * 74}\nThe cauldron is unknown.\n{'-' * 74}\n\0{'-' * 74}\nThe cat is unknown.\n{'-' * 74}\n\0"
    assert told(said.partition("\0")[2]) == "The cat is unknown"
    assert "\N{REPLACEMENT CHARACTER}" not in causes.message(said)


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


@settings(max_examples=15)
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
