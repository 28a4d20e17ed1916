"""G and its critical points: the contract, all 3^n patterns against the enumeration, errata E6 and E13."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from forging import (
    Forgeries,
    Forgery,
    with_record,
)
from papers.boursier2024.tampering import with_vectors
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.cones import activation_cones
from reluflow.geometry.extremal import extremal_vectors, extremal_vectors_of
from reluflow.geometry.thresholds import alignment_constants
from reluflow.losses import SquareLoss
from reluflow.network import Network
from reluflow.papers.boursier2024.theorems.critical_points import (
    LandscapePoints,
    kind_by_rule,
    kind_by_sampling,
    signed_pull,
)
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract

EQUATION_17, EQUATION_20, EQUATION_7 = (theorem_named(f"boursier2024:{name}") for name in ("eq17", "eq20", "eq7"))


def _with_extremal(change):
    """Evidence whose extremal vectors are not those of the data."""
    return lambda evidence: with_record(evidence, vectors=change(evidence.facts.extremal))


def longer_vectors(evidence: Evidence) -> Evidence:
    return with_vectors(evidence, lambda v: replace(v, vectors=10.0 * v.vectors))


def points_of_other_cones(evidence: Evidence) -> Evidence:
    cones = evidence.recorded(LandscapePoints).cones
    return with_record(evidence, cones=replace(cones, witnesses=cones.witnesses - 30.0))


FORGERIES: Forgeries = {
    ("eq7", "potential"): Forgery(points_of_other_cones),
    ("eq7", "critical"): Forgery(longer_vectors),
    ("eq7", "kinds"): Forgery(lambda e: with_vectors(e, lambda v: replace(v, kinds=("saddle",) * len(v)))),
    ("eq17", "shortest"): Forgery(longer_vectors),
    ("eq20", "sign"): Forgery(longer_vectors),
}

CASES = (
    TheoremCase(
        "boursier2024:eq7",
        forge=_with_extremal(lambda found: replace(found, kinds=("saddle",) * len(found))),
        failing="general-position",
        inapplicable=lambda: example_problem(EQUATION_7, "orthogonal-triple"),
    ),
    TheoremCase(
        "boursier2024:eq17",
        forge=_with_extremal(lambda found: replace(found, vectors=found.vectors * (1.0 + 1e-8))),
        failing="general-position",
        inapplicable=lambda: example_problem(EQUATION_17, "orthogonal-triple"),
    ),
    TheoremCase(
        "boursier2024:eq20",
        forge=_with_extremal(lambda found: replace(found, etas=found.etas + 1e-8)),
        failing="general-position",
        inapplicable=lambda: example_problem(EQUATION_20, "orthogonal-triple"),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def _gaussian(seed, n, d):
    rng = np.random.default_rng(seed)
    return Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))


def _by_definition(dataset, leak):
    """Every pattern u in {-1, 0, 1}^n by bounded least squares: {u: (D_u, side)} where D_u is in M_u or -M_u."""
    forces = SquareLoss().label_forces(dataset.y)
    found = {}
    for u in product((-1, 0, 1), repeat=dataset.n):
        u = np.array(u)
        zeros = u == 0
        if np.sum(zeros) >= dataset.d:
            continue
        D = (np.where(u > 0, 1.0, leak) * forces * ~zeros) @ dataset.X
        if np.any(zeros):
            columns = (forces[zeros, None] * dataset.X[zeros]).T
            eta = lsq_linear(columns, -D, bounds=(leak, 1.0), method="bvls", tol=1e-14).x
            D = D + columns @ eta
        products = dataset.X @ D
        size = 1e-9 * np.linalg.norm(D) * np.linalg.norm(dataset.X, axis=1)
        signs = np.where(np.abs(products) <= size, 0, np.sign(products))
        if np.linalg.norm(D) > 1e-10 and (np.array_equal(signs, u) or np.array_equal(signs, -u)):
            found[tuple(u.tolist())] = (D, 1 if np.array_equal(signs, u) else -1)
    return found


@pytest.mark.parametrize("leak", [0.0, 0.3])
@pytest.mark.parametrize(("seed", "n", "d"), [(0, 4, 2), (1, 5, 3), (2, 3, 4), (3, 5, 2)])
def test_definition_1_by_all_patterns_agrees_with_the_enumeration(seed, n, d, leak):
    dataset = _gaussian(seed, n, d)
    wanted = _by_definition(dataset, leak)
    found = extremal_vectors(dataset, SquareLoss(), leak=leak)
    assert {tuple(u) for u in found.patterns.tolist()} == set(wanted)
    for u, vector, side in zip(found.patterns.tolist(), found.vectors, found.sides, strict=True):
        assert np.linalg.norm(vector - wanted[tuple(u)][0]) < 1e-9
        assert side == wanted[tuple(u)][1]


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 5), d=st.integers(2, 3), leak=st.sampled_from([0.0, 0.3]))
def test_kinds_by_rule_and_by_sampling_agree(seed, n, d, leak):
    dataset = _gaussian(seed, n, d)
    forces = SquareLoss().label_forces(dataset.y)
    found = extremal_vectors(dataset, SquareLoss(), leak=leak)
    for index, kind in enumerate(found.kinds):
        assert kind == kind_by_rule(found, forces, index)
        pattern, direction = found.patterns[index], found.directions[index]
        assert kind == kind_by_sampling(direction, dataset.X, forces, leak, pattern)


@settings(max_examples=40)
@given(seed=st.integers(0, 100_000), n=st.integers(1, 7))
def test_in_the_plane_there_is_no_saddle(seed, n):
    """As many maxima as minima in d = 2, and no saddle; unless all samples lie in a half-plane (dead plateau)."""
    dataset = _gaussian(seed, n, 2)
    kinds = extremal_vectors(dataset, SquareLoss()).kinds
    assert "saddle" not in kinds
    angles = np.sort(np.arctan2(dataset.X[:, 1], dataset.X[:, 0]))
    has_plateau = np.max(np.diff(angles, append=angles[0] + 2 * np.pi)) > np.pi
    excess = kinds.count("maximum") - kinds.count("minimum")
    assert abs(excess) <= (1 if has_plateau else 0)


def test_erratum_e6_the_printed_sign_of_z_is_wrong():
    """D~ + Z eta is not D where an extremal vector lies on a hyperplane; D~ - Z eta is."""
    problem = example_problem(EQUATION_20)
    evidence = Evidence(problem)
    found = evidence.facts.extremal
    on_boundary = np.flatnonzero(np.any(found.patterns == 0, axis=1))
    assert on_boundary.size == 2
    for index in on_boundary:
        assert np.linalg.norm(signed_pull(evidence, found, index, -1) - found.vectors[index]) < 1e-15
        assert np.linalg.norm(signed_pull(evidence, found, index, +1) - found.vectors[index]) > 0.1


def test_erratum_e13_orthogonal_data_are_outside_the_theorem():
    """X = I_3, y = (1, .7, -.8): 4 extremal vectors, two of them saddles, slopes at their ends, lambda* = 0."""
    dataset = load("orthogonal-triple")
    assert np.array_equal(dataset.X, np.eye(3))
    assert dataset.y.tolist() == [1.0, 0.7, -0.8]
    found = extremal_vectors(dataset, SquareLoss())
    assert sorted(found.kinds) == ["maximum", "minimum", "saddle", "saddle"]
    wanted = np.array([[1.0, 0.7, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -0.8], [0.0, 0.7, 0.0]]) / 3.0
    assert np.max(np.abs(found.vectors - wanted)) < 1e-15
    constants = alignment_constants(dataset, SquareLoss())
    assert constants.delta_0 == 0.0
    assert constants.log_lambda_star(0.1, 1.0) == -np.inf
    problem = TrainingProblem(dataset, SquareLoss(), Network(np.eye(3), np.ones(3), log_scale=-10.0))
    for theorem in (EQUATION_7, EQUATION_17, EQUATION_20):
        verdict = check(theorem, problem)
        assert verdict.kind is VerdictKind.NOT_APPLICABLE
        assert "general-position" in verdict.failing_hypotheses


def test_the_unique_extremal_vector_of_the_three_points():
    """Published setting: D* = (-0.2583333, 0.6666667), |D*| = 0.7149689, at 111.1813 degrees; all samples active."""
    found = extremal_vectors(load("three-points"), SquareLoss())
    assert len(found) == 1
    assert found.kinds == ("maximum",)
    assert found.vectors[0] == pytest.approx([-0.2583333, 0.6666667], abs=5e-8)
    assert found.norms[0] == pytest.approx(0.7149689, abs=5e-8)
    assert np.degrees(np.arctan2(*found.vectors[0][::-1])) == pytest.approx(111.1813, abs=5e-5)
    assert found.patterns.tolist() == [[1, 1, 1]]


def test_cones_of_the_three_points():
    """Boundaries at 26.565, 36.870, 172.875, 206.565, 216.870, 352.875 degrees; the all-on cone is 136.005 wide."""
    X = load("three-points").X
    boundaries = np.sort(np.mod(np.degrees(np.arctan2(X[:, 1], X[:, 0]))[:, None] + [-90.0, 90.0], 360.0).ravel())
    assert boundaries == pytest.approx([26.565, 36.870, 172.875, 206.565, 216.870, 352.875], abs=5e-4)
    assert boundaries[2] - boundaries[1] == pytest.approx(136.005, abs=5e-4)
    cones = activation_cones(X)
    mids = np.radians([(36.870 + 172.875) / 2, (216.870 + 352.875) / 2])
    patterns = np.sign(np.stack([np.cos(mids), np.sin(mids)], axis=1) @ X.T).astype(int).tolist()
    assert patterns == [[1, 1, 1], [-1, -1, -1]]
    assert cones.num_open == 6


def test_escape_directions_at_the_least_squares_line():
    """At the plateau G_r has maxima on the rays at 26.565 and 206.565 degrees, |D| = 0.03058."""
    dataset = load("three-points")
    beta = np.linalg.lstsq(dataset.X, dataset.y, rcond=None)[0]
    found = extremal_vectors_of(dataset.X, (dataset.y - dataset.X @ beta) / 3.0)
    is_ray = (found.dimensions == 1) & (np.array(found.kinds) == "maximum")
    angles = np.mod(np.degrees(np.arctan2(found.directions[is_ray][:, 1], found.directions[is_ray][:, 0])), 360.0)
    assert np.sort(angles) == pytest.approx([26.565, 206.565], abs=5e-4)
    assert found.norms[is_ray] == pytest.approx([0.03058, 0.03058], abs=5e-6)
    assert sorted(found.patterns[is_ray].tolist()) == [[-1, 0, 1], [1, 0, -1]]


@pytest.mark.parametrize(("n", "low", "high"), [(3, 0.4, 0.75), (7, 0.85, 1.0)])
def test_saddles_are_common_from_three_dimensions_on(n, low, high):
    """Gaussian data in d = 3: 53 to 62 percent of draws have a saddle for n = 3, 93 to 95 for n = 7 (60 draws each)."""
    has_saddle = [extremal_vectors(_gaussian(seed, n, 3), SquareLoss()).has_saddle for seed in range(60)]
    assert low <= np.mean(has_saddle) <= high
