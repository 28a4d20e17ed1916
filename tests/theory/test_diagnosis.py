"""Each registered dataset has its expected diagnosis, with the golden numbers of the papers' digests."""

import numpy as np
import pytest

from reluflow.data import Dataset
from reluflow.data.registry import load
from reluflow.errors import InvalidInputError
from reluflow.losses import ExponentialLoss, LogisticLoss, SquareLoss
from reluflow.papers.boursier2024.assumptions import largest_safe_eta
from reluflow.theory.diagnosis import assumptions, conditions_of, diagnose, main_theorems

# dataset, leak, {condition: (holds, margin or None to leave it unchecked)}
GOLDEN = [
    (
        "three-points",
        0.0,
        {
            "boursier-a1": (True, 0.0),
            "boursier-a4": (True, None),
            "boursier-a5": (False, 0.8125 - 1.778),  # 0.8125 against 1.778 at the third sample
            "boursier-a6": (True, None),
            "three-point-box": (False, None),
            "three-point-box-corrected": (False, None),
            "general-position": (True, None),
            "no-saddle": (True, 0.0),
            "linearly-separable": (False, None),
            "lee-realizable": (False, None),
        },
    ),
    (
        "three-point-box:eta=0.09",
        0.0,
        dict.fromkeys(("three-point-box", "boursier-a4", "boursier-a5", "boursier-a6"), (True, None)),
    ),
    (
        "three-point-box-worst:eta=0.16",
        0.0,
        {
            "three-point-box": (True, 1 / 6 - 0.16),
            "three-point-box-corrected": (False, None),
            "boursier-a4": (True, None),
            "boursier-a5": (False, 1.7056 - 2.1125),  # erratum E3's counterexample
            "boursier-a6": (True, None),
        },
    ),
    ("stewart-digitised", 0.0, {"boursier-a4": (True, None)}),
    ("min-toy", 0.0, {"orthogonally-separable-strict": (True, 0.173648), "orthogonally-separable": (True, None)}),
    ("min-correlated", 0.0, {"orthogonally-separable-strict": (True, np.sin(0.1))}),
    ("min-nearly-orthogonal", 0.0, {"orthogonally-separable-strict": (True, np.sin(0.001))}),
    ("min-orthogonal", 0.0, {"orthogonally-separable-strict": (False, 0.0)}),
    ("min-regression-case", 0.0, {"orthogonally-separable-strict": (True, 0.766044)}),
    (
        "phuong-toy",
        0.0,
        {"orthogonally-separable": (True, None), "support-spans": (True, None), "linearly-separable": (True, None)},
    ),
    ("phuong-orthants", 0.0, {"orthogonally-separable": (True, None), "support-spans": (False, None)}),
    ("phuong-dead-cone", 0.0, {"orthogonally-separable": (True, None), "dead-cone-empty": (False, None)}),
    (
        "lyu-symmetric",
        0.5,
        {
            "linearly-separable": (True, 1.0),
            "symmetric": (True, 0.0),
            "lyu-4.5": (True, None),
            "non-branching": (None, None),
        },
    ),
    ("lyu-middle", 0.5, {"lyu-a2": (True, 0.1586), "lyu-a3": (True, 0.812), "linearly-separable": (True, None)}),
    (
        "lyu-hinted",
        0.5,
        {
            "lyu-a2": (True, None),
            "lyu-a3": (True, 3.176122 - 1.679045),
            "lyu-a5": (True, 0.0309233 - 0.0154616),
            "lyu-a5-star": (True, 0.0309233 - 0.0154616),
            "principal-direction": (True, None),
            "hinted": (True, None),
            "lyu-a8": (False, 1.679045 - 3.176122),
        },
    ),
    (
        "lyu-counterexample",
        0.1,
        {
            "lyu-a2": (True, None),
            "lyu-a3": (True, 6.007 - 3.912),
            "lyu-a5": (True, 0.5 - 0.0707),
            "lyu-a5-star": (False, 0.5 - 4.572),  # erratum E4: A.5 holds, A.5* does not, and the theorem is false
            "orthogonally-separable-strict": (True, None),
            "non-branching": (True, None),
        },
    ),
    ("lyu-counterexample-mild", 0.5, {"lyu-a5-star": (False, 0.5 - 0.8144)}),
    ("lyu-counterexample-sharp", 0.5, {"lyu-a5-star": (True, 0.5 - 0.332)}),
    ("lyu-orthogonal", 0.0, {"orthogonally-separable": (True, None), "non-branching": (True, None)}),
    ("lyu-gaussian", 0.5, {"linearly-separable": (True, None), "symmetric": (False, None)}),
    (
        "lee-single-neuron:n=2000,d=20",
        0.0,
        {"lee-realizable": (True, 0.0), "lee-unique-minimum": (True, None), "lee-gaussian": (None, None)},
    ),
    ("lee-flat-minimum", 0.0, {"lee-realizable": (None, None), "lee-unique-minimum": (False, None)}),
    ("orthogonally-separable:mu=0.25", 0.0, {"orthogonally-separable-strict": (True, 0.25)}),
    ("symmetric-separable", 0.5, {"symmetric": (True, 0.0), "linearly-separable": (True, None)}),
    ("orthogonal-triple", 0.0, {"general-position": (False, None), "no-saddle": (False, -2.0)}),
    (
        "mnist-0-1",
        0.0,
        {
            "orthogonally-separable-strict": (False, None),
            "linearly-separable": (True, None),
            "general-position": (None, None),
        },
    ),
    ("mnist-3-8", 0.0, {"orthogonally-separable-strict": (False, None), "symmetric": (False, None)}),
    ("mnist-1-7", 0.0, {"orthogonally-separable-strict": (False, None), "no-saddle": (None, None)}),
]


@pytest.mark.parametrize(("spec", "leak", "expected"), GOLDEN, ids=[case[0] for case in GOLDEN])
def test_expected_diagnosis(spec, leak, expected):
    diagnosis = diagnose(load(spec), leak=leak)
    for key, (holds, margin) in expected.items():
        condition = diagnosis[key]
        assert condition.holds is holds, f"{key}: {condition}"
        if margin is not None:
            assert condition.margin == pytest.approx(margin, rel=1e-3, abs=1e-6), f"{key}: {condition}"


def test_largest_safe_eta_is_the_corrected_one():
    """Lemma 8 prints 1/6; Assumption 5 fails from 0.0977 on (erratum E3)."""
    assert largest_safe_eta() == pytest.approx(0.09765, abs=5e-5)


def test_random_boxes_below_the_safe_eta_meet_assumption_5(rng):
    from reluflow.papers.boursier2024.data import three_point_box

    for _ in range(50):
        diagnosis = diagnose(three_point_box(0.0976, rng=rng))
        assert diagnosis["boursier-a5"].holds
        assert diagnosis["boursier-a4"].holds
        assert diagnosis["boursier-a6"].holds


def test_theorems_name_what_fails():
    diagnosis = diagnose(load("three-points"))
    by_key = {theorem.key: theorem for theorem in diagnosis.theorems}
    assert by_key["boursier2024:thm1"].applicable is True
    assert by_key["boursier2024:thm2"].applicable is False
    assert by_key["boursier2024:thm4"].applicable is False
    assert "boursier-a5" in by_key["boursier2024:thm4"].why
    assert "not square" in by_key["min2024:thm1"].why


def test_min_loss_needs_the_factor_two_and_times_scale_without_it():
    """Erratum E4: Lemma 2 needs twice the logistic loss; the plain one runs the same trajectory at half the speed."""
    data = load("min-regression-case")
    cases = (
        (LogisticLoss(reduction="sum"), False, "times are multiplied by 2"),
        (LogisticLoss(reduction="sum", factor=2.0), True, "hold"),
        (ExponentialLoss(reduction="sum"), True, "hold"),
        (ExponentialLoss(), True, "times are multiplied by 4"),
    )
    for loss, holds, words in cases:
        diagnosis = diagnose(data, loss)
        assert diagnosis["min-loss"].holds is holds
        theorem = {t.key: t for t in diagnosis.theorems}["min2024:thm1"]
        assert theorem.applicable is True
        assert theorem.why.endswith(words) or words in theorem.why


def test_printed_a5_does_not_make_theorem_a7_applicable():
    diagnosis = diagnose(load("lyu-counterexample"), leak=0.1)
    assert {t.key: t.applicable for t in diagnosis.theorems}["lyu2021:thmA.7"] is False


def test_square_without_one_half_breaks_assumption_1():
    assert diagnose(load("three-points"), SquareLoss(factor=2.0))["boursier-a1"].holds is False  # erratum E1


def test_every_theorem_asks_for_known_conditions():
    keys = {assumption.key for assumption in assumptions()}
    assert len(keys) == len(assumptions())
    for theorem in main_theorems():
        assert set(conditions_of(theorem)) <= keys


def test_every_condition_says_something():
    for spec in ("three-points", "lyu-hinted", "min-toy"):
        for condition in diagnose(load(spec), leak=0.5).conditions:
            assert condition.detail
            assert condition.statement
            assert condition.margin is None or np.isfinite(condition.margin)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[1.0, 2.0]], "at least 2 of them, got 1"),
        ([[1.0, 2.0], [0.0, 0.0]], "no zero sample, got one in row 2"),
    ],
)
def test_refusals(X, words):
    with pytest.raises(InvalidInputError, match=words):
        diagnose(Dataset(X, np.ones(len(X))))


def test_many_samples_stay_bounded(rng):
    n = 200_000
    X = rng.standard_normal((n, 2))
    diagnosis = diagnose(Dataset(X, np.where(X[:, 0] > 0, 1.0, -1.0)))
    assert diagnosis["orthogonally-separable-strict"].holds is False  # one bad pair refutes
    assert diagnosis["general-position"].holds is None
    assert "n = 200000" in diagnosis["lyu-a2"].detail or diagnosis["lyu-a2"].holds is None
    positive = np.abs(X) + 1e-3
    undecided = diagnose(Dataset(positive, np.ones(n)))["orthogonally-separable-strict"]
    assert undecided.holds is None
    assert "too many pairs" in undecided.detail


def test_labels_that_are_all_zero_are_judged():
    """The smallest label was divided by the largest: 0/0 raised a warning on data without any signal."""
    found = diagnose(Dataset([[1.0, 0.5], [0.2, 1.0], [-1.0, 0.3]], [0.0, 0.0, 0.0]))
    assert found["boursier-a4"].holds is False
    assert found["boursier-a4"].margin == 0.0


NEARLY_ON_A_LINE = [  # all <w, x> < 0 for some w, by products of size 1e-13; a float sees one line through 0
    [-48.083261120685236, -58.889727457340825],
    [9.899494936611665, 12.12435565298314],
    [-5.656854249492381, -6.928203230274509],
    [-48.083261120685236, -58.88972745734173],
]


def test_a_dead_cone_is_not_empty_by_rounding():
    """A combination that vanished to 1e-10 was taken for one that vanishes, and neurons for ones that cannot die."""
    found = {c.key: c for c in diagnose(Dataset(NEARLY_ON_A_LINE, [1, -1, 1, -1]), LogisticLoss()).conditions}
    assert found["dead-cone-empty"].holds is None
    assert "to rounding, which proves nothing" in found["dead-cone-empty"].detail


def test_a_class_is_not_called_without_vector_where_that_was_not_proved():
    """Both signs of the class are one hair off a line: it has a max-margin vector, of length 1e13."""
    samples = [[41.01219330881976, 50.22947341949844], [-33.941125496954285, -41.56921938165305]]
    samples += [[28.284271247461902, 34.641016151378544], [0.0, -1.0], [1.0, -2.0]]
    found = {c.key: c for c in diagnose(Dataset(samples, [1, 1, 1, -1, -1]), LogisticLoss()).conditions}
    assert found["support-spans"].holds is not True
    assert "no max-margin vector of the positive class" not in found["support-spans"].detail
    assert "could not be verified exactly" in found["support-spans"].detail
