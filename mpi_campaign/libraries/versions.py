"""Versions of MPI libraries: releases by their numbers, branches and commits by name."""

import re

# Intel MPI counts years.
NEWER_THAN_ALL = 9999


def numbers(version: str) -> tuple[int, ...]:
    """Those that a version begins with, or that a branch is named after: 4, 0, 3 of 4.0.3, 5, 0 of v5.0.x.

    NEWER_THAN_ALL where it has none (main, git.4f2a...).
    """
    match = re.match(r"(?:(?:git\.)?v)?(\d+(?:\.\d+)*)", version)
    return tuple(map(int, match[1].split("."))) if match else (NEWER_THAN_ALL,)


def same_version(asked: str, reported: str) -> bool:
    """Whether a library that reports one version can be the one that was asked for.

    It may leave out the end of its version: Intel MPI says 2021.18 of 2021.18.1, MVAPICH2 2.3.7 of 2.3.7-1, a wheel
    nothing of .post1.  What is called by a branch or a commit (main, v5.0.x, git.4f2a...) reports some version that its
    name does not tell.
    """
    if not asked[:1].isdigit():
        return True
    if asked.endswith(".x"):  # a branch of these releases
        return reported.startswith(asked[:-1])
    return asked == reported or any(asked.startswith(f"{reported}{separator}") for separator in "-.+")
