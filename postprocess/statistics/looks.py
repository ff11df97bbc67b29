"""A question that is asked again after more launches, until it is answered: when, and how sure each time.

Whoever looks several times is wrong more often than whoever looks once. The looks share the rate of wrong answers, so
that all of them together keep it (Bonferroni), however much the launches of one look have in common with the next.
"""

LOOKS = (3, 5, 8, 12)
"""After how many launches of each case it is asked. After the last of them it stays as it is."""


def rate_of_each(rate: float) -> float:
    """The rate of wrong answers of each look, where all of them together have this one."""
    return rate / len(LOOKS)
