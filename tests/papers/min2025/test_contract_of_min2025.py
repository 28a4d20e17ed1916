"""Every result of min2025 holds on a case, is refused on another, and fails on false evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forging import LATER, Forgeries, Forgery, events_twice
from papers.min2025.tampering import (
    across_classes,
    across_shortened,
    class_means,
    directions_stretched,
    directions_turned,
    equal_shares,
    first_neuron,
    forces_changed,
    foreign_on,
    inputs_tilted,
    labels_rotated,
    later,
    longer_positive,
    losses_scaled,
    multipliers_elsewhere,
    no_unit_vectors,
    nowhere,
    of_the_first_class,
    one_hot,
    outputs_far,
    partly_on,
    point_scaled,
    scaled,
    shared_neuron,
    sharpened,
    shifted_sums,
    sideways_backwards,
    states,
)
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.losses import SoftmaxLoss
from reluflow.papers.min2025 import starts
from reluflow.papers.min2025.class_geometry import pseudo_labels
from reluflow.theory.check import example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from theorem_cases import TheoremCase, contract

ACUTE = Dataset(np.eye(3) + 0.2, [0, 1, 2], classes=("a", "b", "c"))


def acute(key):
    """Three classes at acute angles."""
    return lambda: example_problem(theorem_named(f"min2025:{key}"), ACUTE)


def binary(key):
    """One output and the logistic loss."""

    def problem():
        theorem = theorem_named(f"min2025:{key}")
        logistic = replace(theorem, setting=replace(theorem.setting, loss="logistic", init="sphere"))
        return example_problem(logistic, load("phuong-toy"))

    return problem


def averaged(key):
    def problem():
        return replace(example_problem(theorem_named(f"min2025:{key}")), loss=SoftmaxLoss())

    return problem


def unbalanced(key):
    def problem():
        found = example_problem(theorem_named(f"min2025:{key}"))
        return replace(found, network=found.network.replace(v=1.1 * found.network.v))

    return problem


def at_own_scale(theorem, problem):
    bare = Evidence(problem, parameters=theorem.parameter_values({}))
    return replace(problem, network=problem.network.scaled(theorem.log_scale(bare)))


def semi_local(theorem):
    """Three directions of the plane, six samples along the first; its neuron also fires on a foreign sample."""
    angles = np.deg2rad([0, 120, 240])
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    labels = np.repeat([0, 1, 2], [6, 1, 1])
    data = Dataset(directions[labels], labels, classes=("1", "2", "3"))
    lean = [np.cos(np.deg2rad(35.0)), np.sin(np.deg2rad(35.0))]
    network = starts.balanced([lean, directions[1], directions[2]], pseudo_labels(3), 1e-3)
    return at_own_scale(theorem, starts.problem_of(data, network))


def lightly(theorem):
    """At scale 1e-6, where the printed bound is below what any force could do."""
    problem = example_problem(theorem)
    return replace(problem, network=problem.network.scaled(np.log(1e-3)))


def with_two_neurons_each(theorem):
    return starts.golden_a()


def exclusive_b(theorem):
    return at_own_scale(theorem, starts.golden_b())


def binary_at_scale(theorem):
    return at_own_scale(theorem, example_problem(theorem))


def along_the_other_class():
    """A neuron of the positive class exactly along the sum of the negative one, against (8)."""
    problem = example_problem(theorem_named("min2025:sec4.1"))
    w, data = problem.network.w.copy(), problem.dataset
    j = int(np.argmax(problem.network.a > 0.0))
    away = data.X[data.y < 0].sum(axis=0)
    w[j] = np.linalg.norm(w[j]) * away / np.linalg.norm(away)
    return replace(problem, network=problem.network.replace(w=w))


FORGERIES: Forgeries = {
    ("thm1", "collapse"): Forgery(lambda e: inputs_tilted(e), also=("self-dual",)),
    ("thm1", "orthogonal"): Forgery(shared_neuron, also=("collapse", "self-dual")),
    ("thm1", "self-dual"): Forgery(one_hot),
    ("prop1", "separated"): Forgery(nowhere),
    ("prop1", "one-way"): Forgery(events_twice),
    ("prop2", "W"): Forgery(class_means),
    ("prop2", "V"): Forgery(one_hot),
    ("prop2", "shares"): Forgery(equal_shares),
    ("prop2", "feasible"): Forgery(lambda e: point_scaled(e, 1.1, 0.0), also=("complementary",)),
    ("prop2", "complementary"): Forgery(lambda e: point_scaled(e, 1.1, 0.0), also=("feasible",)),
    ("prop2", "stationary"): Forgery(multipliers_elsewhere),
    ("lemma1", "near"): Forgery(lambda e: sharpened(e, 20.0), also=("half", "sharp")),
    ("lemma1", "half"): Forgery(lambda e: sharpened(e, 2.0), also=("sharp",)),
    ("lemma1", "sharp"): Forgery(lambda e: sharpened(e, 1.05)),
    ("lemma2", "norm"): Forgery(lambda e: scaled(e, 20.0), also=("growth",)),
    ("lemma2", "output"): Forgery(lambda e: scaled(e, 1e3), also=("norm", "growth")),
    ("lemma2", "growth"): Forgery(lambda e: scaled(e, 3.0, 1)),
    ("lemma3", "error"): Forgery(lambda e: scaled(e, 1e6)),
    ("lemma3", "sharp"): Forgery(outputs_far, also=("error",)),
    ("prop3", "in-time"): Forgery(nowhere, also=("own-on",)),
    ("prop3", "own-on"): Forgery(lambda e: nowhere(e, 20)),
    ("prop3", "foreign-off"): Forgery(lambda e: foreign_on(e, 20)),
    ("prop3", "B"): Forgery(lambda e: labels_rotated(e, 20)),
    ("lemma4", "B"): Forgery(lambda e: labels_rotated(e, 20)),
    ("lemma4", "A"): Forgery(lambda e: states(e, lambda n: first_neuron(n, w=lambda w: w + 0.3 * np.roll(w, 1)), 39)),
    ("lemma4", "own-on"): Forgery(nowhere, also=("A",)),
    ("lemma4", "foreign-off"): Forgery(lambda e: foreign_on(e), also=("A",)),
    ("lemma5", "pattern"): Forgery(lambda e: foreign_on(e)),
    ("lemma5", "B"): Forgery(lambda e: labels_rotated(e)),
    ("lemma6", "spread"): Forgery(lambda e: no_unit_vectors(e, 1.5, -1.0, 0.5)),
    ("lemma6", "negative"): Forgery(lambda e: no_unit_vectors(e, 1.2, 0.75, 0.85, least=-0.83), also=("spread",)),
    ("lemma6", "bounded"): Forgery(lambda e: no_unit_vectors(e, 3.0, 0.99, 2.0), also=("spread",)),
    ("lemma7", "within"): Forgery(across_classes, also=("between",)),
    ("lemma7", "between"): Forgery(of_the_first_class),
    ("lemma8", "short"): Forgery(of_the_first_class),
    ("lemma9", "partly-active"): Forgery(lambda e: directions_stretched(e, partly=True)),
    ("lemma9", "foreign-active"): Forgery(lambda e: directions_stretched(e, partly=False)),
    ("lemma10", "least"): Forgery(lambda e: forces_changed(e, -1.5), also=("most",)),
    ("lemma10", "most"): Forgery(lambda e: forces_changed(e, -1.5), also=("least",)),
    ("lemma11", "margin"): Forgery(lambda e: directions_turned(e, 0.1), also=("sharp", "attained")),
    ("lemma11", "sharp"): Forgery(lambda e: directions_turned(e, 0.9), also=("attained",)),
    ("lemma11", "attained"): Forgery(lambda e: directions_turned(e, 0.9999)),
    ("lemma12", "sideways"): Forgery(sideways_backwards),
    ("lemma13", "driven-back"): Forgery(across_shortened),
    ("sec4.1", "separated"): Forgery(partly_on, also=("own-on", "W")),
    ("sec4.1", "own-on"): Forgery(lambda e: nowhere(e, 12)),
    ("sec4.1", "foreign-off"): Forgery(lambda e: foreign_on(e, 19)),
    ("sec4.1", "W"): Forgery(lambda e: inputs_tilted(e, slice(20, None)), also=("shares",)),
    ("sec4.1", "shares"): Forgery(longer_positive),
    ("trap", "own"): Forgery(lambda e: scaled(e, 0.5), also=("foreign",)),
    ("trap", "foreign"): Forgery(lambda e: foreign_on(e, share=0.5), also=("own",)),
    ("trap", "B"): Forgery(lambda e: states(e, lambda n: n.replace(v=np.roll(n.v, 1, axis=1)))),
    ("output-sums", "constant"): Forgery(shifted_sums),
    ("learning-times", "slope"): Forgery(later),
    ("growth", "norm"): Forgery(lambda e: scaled(e, 1.1, LATER, outputs=False)),
    ("growth", "loss"): Forgery(lambda e: losses_scaled(e, 1.1)),
    ("collapse-limits", "NC1"): Forgery(class_means),
    ("collapse-limits", "NC1-normalised"): Forgery(lambda e: inputs_tilted(e, share=0.3), also=("NC1", "NC3")),
    ("collapse-limits", "NC2"): Forgery(shared_neuron, also=("NC1", "NC1-normalised", "NC3")),
    ("collapse-limits", "NC3"): Forgery(equal_shares),
}

CASES = (
    TheoremCase(
        "min2025:thm1",
        failing="orthogonally-separable-classes",
        inapplicable=acute("thm1"),
        problem=with_two_neurons_each,
    ),
    TheoremCase("min2025:prop1", failing="semi-local-start", inapplicable=starts.counterexample_1, problem=semi_local),
    TheoremCase("min2025:prop2", failing="balanced", inapplicable=unbalanced("prop2"), problem=with_two_neurons_each),
    TheoremCase("min2025:prop3", failing="exclusive-start", inapplicable=starts.counterexample_2, problem=exclusive_b),
    TheoremCase("min2025:lemma1", failing="loss", inapplicable=binary("lemma1")),
    TheoremCase("min2025:lemma2", failing="summed-softmax", inapplicable=averaged("lemma2")),
    TheoremCase("min2025:lemma3", failing="balanced", inapplicable=unbalanced("lemma3"), problem=lightly),
    TheoremCase("min2025:lemma4", failing="semi-local-start", inapplicable=starts.counterexample_2, problem=semi_local),
    TheoremCase("min2025:lemma5", failing="orthogonally-separable-classes", inapplicable=acute("lemma5")),
    TheoremCase("min2025:lemma6", failing="loss", inapplicable=binary("lemma6")),
    TheoremCase("min2025:lemma7", failing="orthogonally-separable-classes", inapplicable=acute("lemma7")),
    TheoremCase("min2025:lemma8", failing="orthogonally-separable-classes", inapplicable=acute("lemma8")),
    TheoremCase("min2025:lemma9", failing="orthogonally-separable-classes", inapplicable=acute("lemma9")),
    TheoremCase("min2025:lemma10", failing="loss", inapplicable=binary("lemma10")),
    TheoremCase("min2025:lemma11", failing="orthogonally-separable-classes", inapplicable=acute("lemma11")),
    TheoremCase(
        "min2025:lemma12",
        failing="support-spans-class",
        inapplicable=lambda: example_problem(theorem_named("min2025:lemma12"), "min2025-a"),
    ),
    TheoremCase(
        "min2025:lemma13",
        failing="support-spans-class",
        inapplicable=lambda: example_problem(theorem_named("min2025:lemma13"), "min2025-a"),
    ),
    TheoremCase("min2025:sec4.1", failing="assumption-3", inapplicable=along_the_other_class, problem=binary_at_scale),
    TheoremCase("min2025:trap", failing="orthogonally-separable-classes", inapplicable=acute("trap")),
    TheoremCase("min2025:output-sums", failing="loss", inapplicable=binary("output-sums")),
    TheoremCase("min2025:learning-times", failing="separated-start", inapplicable=lambda: starts.golden_b()),
    TheoremCase(
        "min2025:growth",
        failing="orthogonally-separable-classes",
        inapplicable=acute("growth"),
        problem=with_two_neurons_each,
    ),
    TheoremCase(
        "min2025:collapse-limits",
        failing="orthogonally-separable-classes",
        inapplicable=acute("collapse-limits"),
        problem=with_two_neurons_each,
    ),
)

test_holds_and_forged_evidence_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)
