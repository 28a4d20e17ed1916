"""Claims judge numbers and carry their reasons."""

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.papers.claim import OURS, Claim, in_words, tallies


@pytest.mark.parametrize(
    ("claim", "holds", "expected"),
    [
        (Claim.near("x", 1.01, 1.0, atol=0.02, source="Sec. 1"), True, "1 ± 0.02"),
        (Claim.near("x", 1.03, 1.0, atol=0.02, source="Sec. 1"), False, "1 ± 0.02"),
        (Claim.near("x", -205.0, -200.0, rtol=0.05, source="Sec. 1"), True, "-200 ± 10"),
        (Claim.below("x", 0.03, 0.03, source="Sec. 1"), True, "at most 0.03"),
        (Claim.below("x", 0.031, 0.03, source="Sec. 1"), False, "at most 0.03"),
        (Claim.above("x", 0.03, 0.03, source="Sec. 1"), True, "at least 0.03"),
        (Claim.above("x", 0.0, 0.03, source="Sec. 1"), False, "at least 0.03"),
        (Claim.between("x", 0.5, 0.0, 1.0, source="Sec. 1"), True, "0 to 1"),
        (Claim.between("x", 1.5, 0.0, 1.0, source="Sec. 1"), False, "0 to 1"),
        (Claim.equal("x", np.int64(3), 3, source="Sec. 1"), True, 3),
        (Claim.equal("x", 2, 3, source="Sec. 1"), False, 3),
    ],
)
def test_judgements(claim, holds, expected):
    assert claim.holds is holds
    assert claim.is_failure is not holds
    assert claim.expected == expected


@pytest.mark.parametrize("make", [Claim.below, Claim.above])
def test_nan_never_holds(make):
    assert make("x", float("nan"), 0.0, source="Sec. 1").holds is False
    assert Claim.near("x", float("nan"), 0.0, atol=1e9, source="Sec. 1").holds is False
    assert Claim.between("x", float("nan"), -1.0, 1.0, source="Sec. 1").holds is False


def test_a_known_failure_needs_a_reason_and_is_no_failure():
    claim = Claim.below("x", 1.0, 0.0, finding=True, why="erratum E3", source="Sec. 1")
    assert claim.holds is False
    assert not claim.is_failure
    with pytest.raises(InvalidInputError, match="`why` must say why"):
        Claim.below("x", 1.0, 0.0, finding=True, source="Sec. 1")
    with pytest.raises(InvalidInputError, match="`why` must say why"):
        Claim("x", None, 0, 0, source="Sec. 1")
    with pytest.raises(InvalidInputError, match="must be a sentence"):
        Claim(" ", True, 0, 0, source="Sec. 1")


def test_numpy_values_become_plain():
    claim = Claim("x", np.True_, np.array([1.0, 2.0]), np.int64(3), source=OURS)
    assert (claim.holds, claim.measured, claim.expected) == (True, (1.0, 2.0), 3)
    assert in_words(claim.measured) == "(1, 2)"
    assert in_words(float("inf")) == "inf"


def test_a_claim_says_who_makes_it():
    """Our own checks were counted among the papers' statements, and against the papers where they failed."""
    with pytest.raises(InvalidInputError, match="`source` must name the place in the paper, or be OURS"):
        Claim.below("x", 1.0, 2.0, source=" ")
    claims = [
        Claim.below("x", 1.0, 2.0, source="Sec. 6"),
        Claim.below("x", 3.0, 2.0, source="Sec. 6", finding=True, why="erratum"),
        Claim.below("x", 3.0, 2.0, source=OURS, finding=True, why="our threshold"),
        Claim("x", None, 0, 0, source=OURS, why="too small"),
    ]
    own, ours = tallies(claims)
    assert (own.total, own.holding, own.failing, own.known, own.undecided) == (2, 1, 1, 1, 0)
    assert (ours.total, ours.holding, ours.failing, ours.known, ours.undecided) == (2, 0, 1, 1, 1)
    assert ours.in_words == "1 does not, 1 is open"
