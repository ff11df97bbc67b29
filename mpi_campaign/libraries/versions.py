"""Versions of MPI libraries: releases by their numbers, branches and commits by name."""

import re

NEWER_THAN_ALL = 9999  # greater than the years that Intel MPI has as first numbers


def numbers(version: str) -> tuple[int, ...]:
    """The numbers at the beginning of a version or of a branch's name: (4, 0, 3) for 4.0.3, (5, 0) for v5.0.x.
    (NEWER_THAN_ALL,) where there are none (main, git.4f2a...)."""
    match = re.match(r"(?:(?:git\.)?v)?(\d+(?:\.\d+)*)", version)
    return tuple(map(int, match[1].split("."))) if match else (NEWER_THAN_ALL,)


def order(version: str) -> tuple[tuple[int, ...], bool, str]:
    """By what versions are sorted: a candidate comes before its release."""
    return numbers(version), is_final(version), version


def is_final(version: str) -> bool:
    """Whether a version is a release, and no candidate of one."""
    return not re.search("a|b|rc|dev", version)


def same_version(asked: str, reported: str) -> bool:
    """Whether a library of the version `asked` may report the version `reported`.

    A library may leave out the end of its version: Intel MPI 2021.18.1 reports 2021.18, MVAPICH2 2.3.7-1 reports 2.3.7,
    and a wheel leaves out .post1.  A library that is named by a branch or commit (main, v5.0.x, git.4f2a...) may report
    any version, except that a branch such as 5.0.x reports one of its releases.
    """
    if not asked[:1].isdigit():
        return True
    if asked.endswith(".x"):  # the branch of these releases
        return reported.startswith(asked[:-1])
    return asked == reported or any(asked.startswith(f"{reported}{separator}") for separator in "-.+")
