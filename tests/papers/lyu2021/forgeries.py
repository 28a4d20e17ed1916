"""One forgery per conclusion of lyu2021: exactly this conclusion fails, or also those named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from forging import (
    ALL,
    LATER,
    Forge,
    Forgeries,
    Forgery,
    in_companion,
    in_reverse,
    in_sweep,
    rotation,
    scaled_clock,
    scaled_losses,
    scaled_neurons,
    scaled_output_weights,
    scaled_times,
    shifted_log_scale,
    standing_still,
    turned,
    with_end,
    with_networks,
    with_record,
    with_snapshots,
)
from reluflow.dynamics.event import KINDS, EventKind, EventLog
from reluflow.losses import LogisticLoss
from reluflow.network import Network
from reluflow.papers.lyu2021.theorems.boundaries import SignedSamples
from reluflow.papers.lyu2021.theorems.closed_form_kkt import DirectionAndBest, NeuronAndBest
from reluflow.papers.lyu2021.theorems.early_constants import CorrectCone
from reluflow.papers.lyu2021.theorems.embedding import EmbeddedPairs
from reluflow.papers.lyu2021.theorems.entering_the_cone import IdealisedEntry, PrincipalDirection
from reluflow.papers.lyu2021.theorems.gronwall import Subsolutions
from reluflow.papers.lyu2021.theorems.hinted import HintsAndBest
from reluflow.papers.lyu2021.theorems.homogeneous_nets import FeasiblePoints, OutputGradients, StatedMaximiser
from reluflow.papers.lyu2021.theorems.kkt_directions import DirectionAndMultipliers
from reluflow.papers.lyu2021.theorems.limits import KKTDirections
from reluflow.papers.lyu2021.theorems.linear_maximiser import ActivationValues, MaximiserAndPairs
from reluflow.papers.lyu2021.theorems.local_maximum import MaximiserAndNeighbours
from reluflow.papers.lyu2021.theorems.one_neuron import OneNeuron
from reluflow.papers.lyu2021.theorems.phase_one import DrawnEmbeddings, LinearisedFlow
from reluflow.papers.lyu2021.theorems.smoothed_margin import LateStates, MarginState
from reluflow.papers.lyu2021.theorems.subgradient_bounds import SmallNetworks
from reluflow.papers.lyu2021.theorems.two_neurons import FeasiblePairs, PairDirections
from reluflow.papers.lyu2021.theorems.unit_ball import DrawnNetworks, State
from reluflow.theory.evidence import Evidence

Change = Callable[[Network], Network]

# Networks -------------------------------------------------------------------------------------------------------------


def stretched(network: Network, factor: float = 1.3) -> Network:
    """Input weights longer, so that the neurons are not balanced."""
    return network.replace(w=factor * network.w)


def scaled(network: Network, factor: float) -> Network:
    return network.replace(w=factor * network.w, a=factor * network.a)


def with_outputs_weighted(network: Network, factor: float) -> Network:
    return network.replace(a=factor * network.a)


def far_from_balanced(network: Network) -> Network:
    return network.replace(w=0.03 * network.w, a=2.0 * network.a)


def turned_network(network: Network, angle: float) -> Network:
    return network.replace(w=network.w @ rotation(angle, network.d).T)


def towards(network: Network, angle: float) -> Network:
    """Every neuron in one direction."""
    lengths = np.linalg.norm(network.w, axis=1, keepdims=True)
    return network.replace(w=lengths * rotation(angle, network.d)[:, 0])


def one_neuron_scaled(network: Network, index: int, factor: float) -> Network:
    factors = np.ones(network.num_neurons)
    factors[index] = factor
    return network.replace(w=factors[:, None] * network.w, a=factors * network.a)


# Runs -----------------------------------------------------------------------------------------------------------------


def of_other_samples(evidence: Evidence, angle: float) -> Evidence:
    """The run is one on samples that are turned, so its limit is the limit there."""
    return with_samples(evidence, lambda X, y: X @ rotation(angle, X.shape[1]).T)


def with_samples(evidence: Evidence, change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Evidence:
    problem = evidence.run.problem
    data = problem.dataset
    other = replace(problem, dataset=data.replace(X=change(data.X, data.y)))
    return replace(evidence, trajectory=replace(evidence.run, problem=other))


def of_longer_positive_samples(evidence: Evidence) -> Evidence:
    """The run is one on data whose positive samples are longer, so that they need fewer neurons."""
    return with_samples(evidence, lambda X, y: np.where(y[:, None] > 0.0, 1.05 * X, X))


def in_all_runs(evidence: Evidence, forge: Forge) -> Evidence:
    """The run and that of every other scale."""
    return in_sweep(forge(evidence), forge)


def scaled_outputs(evidence: Evidence, factor: float, *, at: int | slice = -1) -> Evidence:
    """Recorded outputs multiplied."""
    return with_snapshots(evidence, lambda s: replace(s, outputs=factor * s.outputs), at=at)


def last_time_scaled(evidence: Evidence, factor: float) -> Evidence:
    return with_snapshots(evidence, lambda s: replace(s, time=factor * s.time))


def middle(evidence: Evidence) -> int:
    return len(evidence.run.snapshots) // 2


def second_half(evidence: Evidence) -> slice:
    return slice(middle(evidence), None)


def first_share_larger(evidence: Evidence) -> Evidence:
    """At the end the first neuron has more than its share of the output weights."""

    def change(network: Network) -> Network:
        factors = np.ones(network.num_neurons)
        factors[0] = 1.1
        return network.replace(a=factors * network.a)

    return in_all_runs(evidence, lambda e: with_end(e, change))


def late_by_log(evidence: Evidence, shift: float) -> Evidence:
    """Every step of the run is recorded at a later time."""
    return replace(evidence, trajectory=replace(evidence.run, log_times=evidence.run.log_times + shift))


def with_loss_added(evidence: Evidence, more: float) -> Evidence:
    return with_snapshots(evidence, lambda s: replace(s, loss=s.loss + more))


def every_event_a_death(evidence: Evidence) -> Evidence:
    log = evidence.run.events
    events = EventLog(log.neurons, log.samples, log.times, np.full_like(log.codes, KINDS.index(EventKind.DEATH)))
    return replace(evidence, trajectory=replace(evidence.run, events=events))


# Records --------------------------------------------------------------------------------------------------------------


def states_changed(evidence: Evidence, change: Callable[[State], State], *, first: int = 0) -> Evidence:
    """The drawn networks or their outputs changed, from one of them on."""
    drawn = evidence.recorded(DrawnNetworks).states
    return with_record(evidence, states=(*drawn[:first], *(change(s) for s in drawn[first:])))


def outputs_scaled(evidence: Evidence, factor: float, *, first: int = 0) -> Evidence:
    return states_changed(evidence, lambda s: State(s.network, factor * s.outputs), first=first)


def outputs_shifted(evidence: Evidence, shift: float, *, first: int = 1) -> Evidence:
    return states_changed(evidence, lambda s: State(s.network, s.outputs + shift), first=first)


def networks_scaled(evidence: Evidence, factor: float) -> Evidence:
    return states_changed(evidence, lambda s: State(scaled(s.network, factor), s.outputs))


def half_of_states(evidence: Evidence) -> int:
    return len(evidence.recorded(DrawnNetworks).states) // 2


def forces_of_larger_outputs(evidence: Evidence) -> Evidence:
    """Networks with outputs that small networks do not have, and the forces that belong to them."""
    y = evidence.dataset.y
    states = tuple(State(s.network, s.outputs + 1.0) for s in evidence.recorded(SmallNetworks).states)
    return with_record(evidence, states=states, forces=tuple(y * LogisticLoss().force(s.outputs, y) for s in states))


def forces_off_by(evidence: Evidence, factor: float) -> Evidence:
    """Forces that differ from 1/2 by so many times |f|/2."""
    small = evidence.recorded(SmallNetworks).states
    return with_record(evidence, forces=tuple(0.5 + 0.5 * factor * np.abs(s.outputs) for s in small))


def pairs_scaled(evidence: Evidence, factor: float) -> Evidence:
    pairs = evidence.recorded(MaximiserAndPairs).pairs
    return with_record(evidence, pairs=tuple(scaled(pair, factor) for pair in pairs))


def best_claimed(evidence: Evidence, *, margin: float = 1.0, upper: float = 1.0) -> Evidence:
    """Another margin of the best network, or another upper bound of all."""
    record = evidence.record
    assert isinstance(record, MaximiserAndPairs | FeasiblePoints | HintsAndBest | DirectionAndBest | NeuronAndBest)
    best = record.best
    assert best is not None
    return with_record(evidence, best=replace(best, margin=margin * best.margin, upper=upper * best.upper))


def best_network_turned(evidence: Evidence) -> Evidence:
    best = evidence.recorded(MaximiserAndPairs).best
    assert best.network is not None
    return with_record(evidence, best=replace(best, network=turned_network(best.network, np.pi)))


def activation_changed(evidence: Evidence, change: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    values = evidence.recorded(ActivationValues)
    return with_record(evidence, there=change(values.there), back=change(values.back))


def feasible_scaled(evidence: Evidence) -> Evidence:
    """The networks rescaled to a smallest margin above 1."""
    return with_record(evidence, feasible=tuple(scaled(t, 1.01) for t in evidence.recorded(FeasiblePoints).feasible))


def maximiser_stretched(evidence: Evidence) -> Evidence:
    maximiser = evidence.recorded(FeasiblePoints).maximiser
    assert maximiser is not None
    return with_record(evidence, maximiser=stretched(maximiser))


def gradients_changed(evidence: Evidence, change: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    gradients = evidence.recorded(OutputGradients).gradients
    return with_record(evidence, gradients=tuple(change(gradient) for gradient in gradients))


def direction_turned(evidence: Evidence) -> Evidence:
    direction = evidence.recorded(StatedMaximiser).direction
    return with_record(evidence, direction=rotation(0.1, direction.size) @ direction)


def direction_scaled(evidence: Evidence, factor: float) -> Evidence:
    return with_record(evidence, direction=factor * evidence.recorded(StatedMaximiser).direction)


def direction_leaning(evidence: Evidence) -> Evidence:
    """A vector orthogonal to mu-bar added, which leaves G as it is."""
    direction = evidence.recorded(StatedMaximiser).direction
    return with_record(evidence, direction=direction + 0.2 * rotation(0.5 * np.pi, direction.size) @ direction)


def subsolution_changed(evidence: Evidence, index: int, change: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    functions = list(evidence.recorded(Subsolutions).functions)
    functions[index] = change(functions[index])
    return with_record(evidence, functions=tuple(functions))


def end_doubled(values: np.ndarray) -> np.ndarray:
    changed = values.copy()
    changed[-1] *= 2.0
    return changed


def embedded_changed(evidence: Evidence, change: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    embedded = evidence.recorded(EmbeddedPairs).embedded
    return with_record(evidence, embedded=tuple(change(rows) for rows in embedded))


def linearised_larger(evidence: Evidence) -> Evidence:
    return with_record(evidence, rows=tuple(10.0 * rows for rows in evidence.recorded(LinearisedFlow).rows))


def one_sign_drawn(evidence: Evidence) -> Evidence:
    return with_record(evidence, b=np.abs(evidence.recorded(DrawnEmbeddings).b))


def hints_with_larger_eps(evidence: Evidence) -> Evidence:
    hints = evidence.recorded(HintsAndBest).hints
    assert hints is not None
    needed = replace(hints.conditions, eps=1.1 * hints.conditions.eps)
    return with_record(evidence, hints=replace(hints, conditions=needed))


def named_neuron_stretched(evidence: Evidence) -> Evidence:
    return with_record(evidence, network=stretched(evidence.recorded(OneNeuron).network))


def longer_neuron_among_others(evidence: Evidence) -> Evidence:
    """Among the others is the stated direction itself, at twice its length."""
    record = evidence.recorded(OneNeuron)
    return with_record(evidence, others=(*record.others, scaled(record.network, 2.0)))


def slopes_shifted(evidence: Evidence) -> Evidence:
    return with_record(evidence, slopes_first=evidence.recorded(FeasiblePairs).slopes_first + 1e-6)


def found_changed(evidence: Evidence, index: int, change: Change) -> Evidence:
    """One of the directions found from random starts changed."""
    found = list(evidence.recorded(PairDirections).found)
    found[index] = change(found[index])
    return with_record(evidence, found=tuple(found))


def named_stretched(evidence: Evidence) -> Evidence:
    first, *others = evidence.recorded(PairDirections).named
    return with_record(evidence, named=(stretched(first), *others))


def of_repeated_samples(state: MarginState) -> MarginState:
    """The state on samples that are each counted three hundred times."""
    return replace(state, X=np.tile(state.X, (300, 1)), y=np.tile(state.y, 300))


def late_states_changed(evidence: Evidence, change: Callable[[MarginState], MarginState]) -> Evidence:
    return with_record(evidence, states=tuple(change(state) for state in evidence.recorded(LateStates).states))


def principal_changed(evidence: Evidence, change: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    return with_record(evidence, w=change(evidence.recorded(PrincipalDirection).w))


def k_of_a_flipped_label(evidence: Evidence) -> Evidence:
    """K is that of samples of which the last has the other label, which its own elements then misclassify."""
    cone = evidence.recorded(PrincipalDirection).cone
    flipped = np.where(np.arange(len(cone.rows)) == len(cone.rows) - 1, -1.0, 1.0)
    return with_record(evidence, cone=replace(cone, rows=flipped[:, None] * cone.rows))


def cone_changed(evidence: Evidence, **changes: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    cone = evidence.recorded(CorrectCone)
    return with_record(evidence, **{name: change(getattr(cone, name)) for name, change in changes.items()})


def entered_elsewhere(evidence: Evidence) -> Evidence:
    state = evidence.recorded(IdealisedEntry).state
    return with_record(evidence, state=replace(state, w=state.w - 30.0))


def state_at_proof_time(evidence: Evidence, **changes: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    state = evidence.record
    return with_record(evidence, **{name: change(getattr(state, name)) for name, change in changes.items()})


def centre_changed(evidence: Evidence, change: Change) -> Evidence:
    return with_record(evidence, network=change(evidence.recorded(MaximiserAndNeighbours).network))


def neighbours_changed(evidence: Evidence, change: Change) -> Evidence:
    neighbours = evidence.recorded(MaximiserAndNeighbours).neighbours
    return with_record(evidence, neighbours=tuple(change(network) for network in neighbours))


def directions_changed(evidence: Evidence, change: Change, *, at: slice = ALL) -> Evidence:
    networks = list(evidence.recorded(KKTDirections).networks)
    for k in range(len(networks))[at]:
        networks[k] = change(networks[k])
    return with_record(evidence, networks=tuple(networks))


def closed_form_changed(evidence: Evidence, change: Change) -> Evidence:
    direction = evidence.recorded(DirectionAndBest).direction
    return with_record(evidence, direction=replace(direction, network=change(direction.network)))


def closed_form_claimed(evidence: Evidence, *, shift: float = 0.0, factor: float = 1.0) -> Evidence:
    """Other multipliers, or another margin."""
    direction = evidence.recorded(DirectionAndBest).direction
    claimed = replace(direction, multipliers=direction.multipliers + shift, margin=factor * direction.margin)
    return with_record(evidence, direction=claimed)


def best_neuron_changed(evidence: Evidence, change: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    return with_record(evidence, w=change(evidence.recorded(NeuronAndBest).w))


def leaning(w: np.ndarray) -> np.ndarray:
    return w + 3e-9 * np.eye(w.size)[1]


def limit_stretched(evidence: Evidence) -> Evidence:
    return with_record(evidence, network=stretched(evidence.recorded(DirectionAndMultipliers).network))


def first_sample_opposite(evidence: Evidence) -> Evidence:
    """The first sample is on the other side, so that the data are not orthogonally separable."""
    z = evidence.recorded(SignedSamples).z.copy()
    z[0] *= -1.0
    return with_record(evidence, z=z)


def record_scaled(evidence: Evidence, name: str, factor: float) -> Evidence:
    """One number or array of the record multiplied."""
    return with_record(evidence, **{name: factor * getattr(evidence.record, name)})


FORGERIES: Forgeries = {
    ("data-scaling", "outputs"): Forgery(lambda e: outputs_scaled(e, 1.01), also=("velocities", "margins")),
    ("data-scaling", "velocities"): Forgery(lambda e: outputs_scaled(e, 1.01), also=("outputs", "margins")),
    ("data-scaling", "margins"): Forgery(lambda e: networks_scaled(e, 30.0), also=("outputs", "velocities")),
    ("thm3.1", "falls"): Forgery(lambda e: scaled_losses(e, 2.0)),
    ("thm3.1", "loss"): Forgery(lambda e: with_end(e, lambda n: n.replace(a=-n.a)), also=("kkt", "direction")),
    ("thm3.1", "norm"): Forgery(lambda e: scaled_clock(e, 100.0)),
    ("thm3.1", "smoothed-margin"): Forgery(lambda e: scaled_outputs(e, 0.01)),
    ("thm3.1", "kkt"): Forgery(lambda e: of_other_samples(e, 0.01)),
    ("thm3.1", "direction"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1), also=("smoothed-margin",)),
    ("problemM", "identity"): Forgery(feasible_scaled),
    ("problemM", "solves-P"): Forgery(lambda e: best_claimed(e, upper=10.0)),
    ("problemM", "beats-others"): Forgery(maximiser_stretched, also=("solves-P",)),
    ("thm4.2", "margin"): Forgery(lambda e: best_claimed(e, margin=10.0)),
    ("thm4.2", "linear"): Forgery(best_network_turned),
    ("thm4.2", "symmetrized"): Forgery(lambda e: pairs_scaled(e, 0.5)),
    ("thm4.2", "shorter"): Forgery(lambda e: pairs_scaled(e, 2.0), also=("symmetrized",)),
    ("thm4.3", "margin"): Forgery(lambda e: of_other_samples(e, 0.01), also=("linear",)),
    ("thm4.3", "linear"): Forgery(lambda e: of_other_samples(e, 0.01), also=("margin",)),
    ("thm4.3", "half-positive"): Forgery(of_longer_positive_samples, also=("margin", "linear")),
    ("thm4.3", "run"): Forgery(in_reverse),
    ("thm4.3", "shares"): Forgery(first_share_larger),
    ("cor4.4", "global"): Forgery(lambda e: of_other_samples(e, 0.01)),
    ("eq2", "loss"): Forgery(lambda e: networks_scaled(e, 30.0)),
    ("eq2", "order"): Forgery(lambda e: outputs_scaled(e, 0.0, first=1), also=("loss",)),
    ("eq2", "velocity"): Forgery(lambda e: outputs_shifted(e, 1.0)),
    ("eq3", "boost"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("eq3", "direction"): Forgery(lambda e: turned(e, 0.02, at=ALL), also=("boost",)),
    ("lemma5.2", "bound"): Forgery(lambda e: in_sweep(e, lambda s: scaled_neurons(s, 1.5, at=ALL), at=0)),
    ("lemma5.2", "order"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("lemma5.3", "commutes"): Forgery(lambda e: in_companion(e, "pair", lambda c: scaled_neurons(c, 30.0))),
    ("lemma5.4", "radius-order"): Forgery(lambda e: in_companion(e, "wide", lambda c: scaled_neurons(c, 1.5, at=ALL))),
    ("lemma5.4", "not-zero"): Forgery(
        lambda e: in_companion(e, "limit", lambda c: scaled_neurons(c, 0.1, at=0)), also=("scale-order",)
    ),
    ("lemma5.4", "scale-order"): Forgery(lambda e: in_all_runs(e, lambda r: scaled_neurons(r, 30.0))),
    ("thm5.5", "pair"): Forgery(
        lambda e: in_companion(e, "pair", lambda c: of_other_samples(c, 0.01)), also=("margin",)
    ),
    ("thm5.5", "run"): Forgery(
        lambda e: in_companion(e, "pair", lambda c: with_networks(c, lambda n: towards(n, 0.3), at=ALL))
    ),
    ("thm5.5", "margin"): Forgery(
        lambda e: in_companion(e, "pair", lambda c: of_other_samples(c, 0.01)), also=("pair",)
    ),
    ("thm5.6", "margin"): Forgery(lambda e: in_companion(e, "size 0.01", lambda c: of_other_samples(c, 0.01))),
    ("thm5.6", "distance"): Forgery(
        lambda e: in_companion(e, "size 0.001", lambda c: of_other_samples(c, 0.01)), also=("margin",)
    ),
    ("lemmaB.1", "integral-form"): Forgery(lambda e: subsolution_changed(e, 2, end_doubled)),
    ("lemmaB.1", "attained"): Forgery(lambda e: subsolution_changed(e, 0, lambda u: 10.0 * u)),
    ("lemmaB.1", "closed-form"): Forgery(
        lambda e: subsolution_changed(e, 2, lambda u: u[::-1]), also=("integral-form",)
    ),
    ("thmB.2", "homogeneous"): Forgery(lambda e: gradients_changed(e, lambda g: g + 1e-6)),
    ("thmB.3", "euler"): Forgery(lambda e: gradients_changed(e, lambda g: 10.0 * g)),
    ("lemmaB.4", "maximiser"): Forgery(direction_turned, also=("gradient",)),
    ("lemmaB.4", "gradient"): Forgery(direction_leaning),
    ("lemmaB.5", "maximiser"): Forgery(direction_turned, also=("gradient", "growth-rate")),
    ("lemmaB.5", "gradient"): Forgery(direction_leaning),
    ("lemmaB.5", "growth-rate"): Forgery(lambda e: direction_scaled(e, 10.0), also=("gradient",)),
    ("lemmaB.9", "balanced"): Forgery(limit_stretched, also=("multiplier-sum",)),
    ("lemmaB.9", "multiplier-sum"): Forgery(lambda e: record_scaled(e, "multipliers", 1.001)),
    ("lemmaB.9", "run"): Forgery(in_reverse),
    ("lemmaB.10", "outputs"): Forgery(lambda e: outputs_scaled(e, 10.0)),
    ("lemmaB.10", "differences"): Forgery(lambda e: outputs_shifted(e, 1.0), also=("outputs",)),
    ("lemmaB.11", "input"): Forgery(lambda e: outputs_shifted(e, 1.0), also=("output", "input-sharp", "output-sharp")),
    ("lemmaB.11", "output"): Forgery(lambda e: outputs_shifted(e, 1.0), also=("input", "input-sharp", "output-sharp")),
    ("lemmaB.11", "input-sharp"): Forgery(
        lambda e: outputs_shifted(e, -30.0, first=half_of_states(e)), also=("output-sharp",)
    ),
    ("lemmaB.11", "output-sharp"): Forgery(
        lambda e: outputs_shifted(e, -30.0, first=half_of_states(e)), also=("input-sharp",)
    ),
    ("lemmaB.12", "gap"): Forgery(lambda e: outputs_shifted(e, 1.0), also=("gap-sharp",)),
    ("lemmaB.12", "gap-sharp"): Forgery(lambda e: outputs_shifted(e, -30.0, first=half_of_states(e))),
    ("corB.13", "subgradient"): Forgery(lambda e: outputs_shifted(e, 1.0)),
    ("lemmaB.14", "eps"): Forgery(forces_of_larger_outputs),
    ("lemmaB.14", "by-output"): Forgery(lambda e: forces_off_by(e, 2.1), also=("by-output-sharp",)),
    ("lemmaB.14", "by-output-sharp"): Forgery(lambda e: forces_off_by(e, 1.0)),
    ("lemmaB.15", "energy"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("lemmaB.16", "rates"): Forgery(lambda e: scaled_outputs(e, np.nan), also=("integral",)),
    ("lemmaB.16", "integral"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("lemmaB.16", "conserved"): Forgery(lambda e: scaled_output_weights(e, 1.05, at=middle(e), sign=-1)),
    ("lemmaB.17", "zero"): Forgery(
        lambda e: in_companion(e, "zero", lambda c: with_networks(c, lambda n: n.replace(w=n.w + 1e-9)))
    ),
    ("lemmaB.17", "alive"): Forgery(lambda e: scaled_times(e, 0.01)),
    ("corB.18", "balanced"): Forgery(lambda e: scaled_output_weights(e, 1.05, at=middle(e), sign=-1)),
    ("corB.18", "signs"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=LATER, sign=1)),
    ("thmB.19", "output-weight"): Forgery(lambda e: scaled_output_weights(e, 0.9, at=0)),
    ("thmB.19", "loss-rate"): Forgery(lambda e: with_loss_added(e, 1.0)),
    ("thmB.19", "hitting-time"): Forgery(lambda e: late_by_log(e, 40.0)),
    ("thmB.19", "falls"): Forgery(lambda e: scaled_losses(e, 0.5, at=middle(e))),
    ("thmB.19", "loss"): Forgery(lambda e: with_end(e, lambda n: n.replace(a=0.1 * n.a))),
    ("thmB.19", "norm"): Forgery(lambda e: scaled_clock(e, 2.0)),
    ("lemmaB.20", "pull"): Forgery(lambda e: scaled_outputs(e, 1.1), also=("forces",)),
    ("lemmaB.20", "forces"): Forgery(lambda e: scaled_losses(e, 1.015)),
    ("appC", "odd"): Forgery(lambda e: activation_changed(e, lambda phi: 0.1 * phi), also=("even",)),
    ("appC", "even"): Forgery(lambda e: activation_changed(e, lambda phi: phi - 0.01)),
    ("lemmaD.1", "growth"): Forgery(linearised_larger),
    ("lemmaD.2", "gap"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("lemmaD.2", "norm"): Forgery(lambda e: shifted_log_scale(e, 3.0, at=0)),
    ("lemmaE.1", "velocity"): Forgery(lambda e: in_companion(e, "pair", lambda c: scaled_outputs(c, -1.0))),
    ("lemmaE.2", "function"): Forgery(lambda e: embedded_changed(e, lambda rows: -rows), also=("gradient",)),
    ("lemmaE.2", "norm"): Forgery(
        lambda e: embedded_changed(e, lambda rows: 0.0 * rows), also=("function", "gradient")
    ),
    ("lemmaE.2", "gradient"): Forgery(lambda e: embedded_changed(e, lambda rows: rows[::-1])),
    ("thmE.4", "limit"): Forgery(lambda e: in_companion(e, "base 0", lambda c: scaled_output_weights(c, 0.5))),
    ("thmE.4", "exponential"): Forgery(
        lambda e: in_companion(e, "base 2", lambda c: scaled_neurons(c, 1.5, at=0)), also=("limit",)
    ),
    ("thmE.4", "same-limit"): Forgery(lambda e: in_companion(e, "near 2", lambda c: scaled_neurons(c, 1.5))),
    ("lemmaE.5", "patterns"): Forgery(
        lambda e: in_companion(e, "near 0", lambda c: with_networks(c, lambda n: towards(n, 2.0))), also=("active",)
    ),
    ("lemmaE.5", "norm"): Forgery(lambda e: in_companion(e, "near 0", in_reverse), also=("active",)),
    ("lemmaE.5", "active"): Forgery(lambda e: in_companion(e, "near 0", lambda c: scaled_output_weights(c, 0.5))),
    ("lemmaE.5", "zero"): Forgery(
        lambda e: in_companion(
            e, "near 0", lambda c: with_networks(c, lambda n: one_neuron_scaled(n, -1, 30.0), at=ALL)
        )
    ),
    ("lemmaE.6", "distance"): Forgery(lambda e: in_companion(e, "base 0", lambda c: scaled_output_weights(c, 0.5))),
    ("lemmaE.7", "frequency"): Forgery(one_sign_drawn),
    ("lemmaE.8", "exponential"): Forgery(
        lambda e: in_companion(e, "limit", lambda c: scaled_neurons(c, 1.5, at=0)), also=("scale-order",)
    ),
    ("lemmaE.8", "scale-order"): Forgery(lambda e: in_all_runs(e, lambda r: scaled_neurons(r, 30.0))),
    ("lemmaE.9", "scale-order"): Forgery(lambda e: in_all_runs(e, lambda r: scaled_neurons(r, 30.0))),
    ("lemmaE.10", "subgradient"): Forgery(lambda e: outputs_scaled(e, np.nan)),
    ("lemmaE.10", "steps"): Forgery(lambda e: scaled_times(e, 0.01)),
    ("lemmaE.11", "lipschitz"): Forgery(lambda e: last_time_scaled(e, 0.01)),
    ("thm6.2", "margin"): Forgery(lambda e: of_other_samples(e, 0.01), also=("one-neuron",)),
    ("thm6.2", "one-neuron"): Forgery(lambda e: of_other_samples(e, 0.01), also=("margin",)),
    ("thm6.2", "approach"): Forgery(
        lambda e: with_end(e, lambda n: turned_network(n, 0.1)), also=("margin", "one-neuron")
    ),
    ("thm6.2", "consequences"): Forgery(hints_with_larger_eps, also=("margin",)),
    ("thm6.2", "optimality"): Forgery(lambda e: best_claimed(e, margin=0.5)),
    ("thm6.2", "late-law"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("lemmaA.4", "kkt"): Forgery(named_neuron_stretched, also=("margin",)),
    ("lemmaA.4", "margin"): Forgery(named_neuron_stretched, also=("kkt",)),
    ("lemmaA.4", "unique"): Forgery(longer_neuron_among_others),
    ("thmA.7", "margin"): Forgery(lambda e: of_other_samples(e, 0.01), also=("one-neuron",)),
    ("thmA.7", "one-neuron"): Forgery(lambda e: of_other_samples(e, 0.01), also=("margin",)),
    ("thmA.7", "approach"): Forgery(
        lambda e: with_end(e, lambda n: turned_network(n, 0.14)), also=("margin", "one-neuron")
    ),
    ("thmA.7", "share-falls"): Forgery(lambda e: scaled_neurons(e, 1e8, sign=-1)),
    ("thmA.10", "margin"): Forgery(lambda e: of_other_samples(e, 0.01), also=("one-neuron",)),
    ("thmA.10", "one-neuron"): Forgery(lambda e: of_other_samples(e, 0.01), also=("margin",)),
    ("thmA.10", "approach"): Forgery(lambda e: with_end(e, lambda n: turned_network(n, 0.2))),
    ("thmA.10", "share-falls"): Forgery(lambda e: scaled_neurons(e, 1e8, sign=1)),
    ("lemmaF.1", "crossed"): Forgery(slopes_shifted),
    ("lemmaF.2", "kkt"): Forgery(lambda e: found_changed(e, 1, lambda n: with_outputs_weighted(n, 0.5))),
    ("lemmaF.2", "mirrored"): Forgery(lambda e: found_changed(e, 0, stretched), also=("kkt",)),
    ("lemmaF.3", "kkt"): Forgery(lambda e: found_changed(e, 0, stretched), also=("nothing-else",)),
    ("lemmaF.3", "margins"): Forgery(named_stretched, also=("kkt", "nothing-else")),
    ("lemmaF.3", "nothing-else"): Forgery(lambda e: found_changed(e, 0, lambda n: scaled(n, 30.0))),
    ("appF.1", "angles"): Forgery(lambda e: turned(e, np.pi, at=second_half(e))),
    ("appF.1", "rate"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("appF.2", "below"): Forgery(lambda e: late_states_changed(e, lambda s: replace(s, X=-s.X))),
    ("appF.2", "monotone"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("appF.2", "gap"): Forgery(lambda e: late_states_changed(e, of_repeated_samples)),
    ("appF.2.1", "weighted"): Forgery(lambda e: late_states_changed(e, of_repeated_samples), also=("radial",)),
    ("appF.2.1", "radial"): Forgery(lambda e: late_states_changed(e, of_repeated_samples), also=("weighted",)),
    ("lemmaF.6", "rate"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("lemmaF.8", "rate"): Forgery(lambda e: scaled_neurons(e, 1.5, at=ALL)),
    ("lemmaF.8", "cosine"): Forgery(lambda e: turned(e, 0.7), also=("rate",)),
    ("thmF.9", "kkt"): Forgery(lambda e: of_other_samples(e, 0.01), also=("value",)),
    ("thmF.9", "value"): Forgery(lambda e: of_other_samples(e, 0.01), also=("kkt",)),
    ("thmF.9", "critical"): Forgery(lambda e: with_networks(e, far_from_balanced)),
    ("lemmaF.11", "below"): Forgery(lambda e: of_other_samples(e, 0.01), also=("vanishes",)),
    ("lemmaF.11", "rises"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("lemmaF.11", "vanishes"): Forgery(in_reverse, also=("rises",)),
    ("lemmaG.1", "inequality"): Forgery(lambda e: principal_changed(e, lambda w: 10.0 * w)),
    ("lemmaG.1", "angle"): Forgery(lambda e: principal_changed(e, lambda w: -w), also=("inequality",)),
    ("lemmaG.1", "a2"): Forgery(k_of_a_flipped_label),
    ("lemmaG.2", "minimum"): Forgery(lambda e: cone_changed(e, extremes=lambda x: np.ones_like(x))),
    ("lemmaG.2", "equivalence"): Forgery(lambda e: cone_changed(e, rows=lambda z: 0.0 * z)),
    ("lemmaG.3", "enters"): Forgery(entered_elsewhere),
    ("lemmaG.3", "stays"): Forgery(lambda e: with_record(e, time=0.0)),
    ("lemmaG.4", "in-cone"): Forgery(lambda e: state_at_proof_time(e, w=lambda w: -w)),
    ("lemmaG.4", "time"): Forgery(standing_still, also=("in-cone",)),
    ("lemmaG.4", "norms"): Forgery(lambda e: state_at_proof_time(e, log_norms=lambda x: np.sign(x) * x**2)),
    ("lemmaG.4", "monotone"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("lemmaG.5", "error"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1), also=("order",)),
    ("lemmaG.5", "order"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("lemmaG.5", "b-bar"): Forgery(lambda e: in_all_runs(e, lambda r: scaled_neurons(r, 1.5, at=ALL))),
    ("lemmaG.6", "growth"): Forgery(lambda e: last_time_scaled(e, 0.01)),
    ("lemmaG.7", "error"): Forgery(lambda e: with_networks(e, lambda n: one_neuron_scaled(n, -1, 20.0))),
    ("lemmaG.8", "losers"): Forgery(lambda e: in_sweep(e, lambda r: scaled_neurons(r, 9.0, at=ALL, sign=-1), at=-1)),
    ("lemmaG.8", "winners"): Forgery(lambda e: in_sweep(e, lambda r: scaled_output_weights(r, 0.5, at=ALL), at=0)),
    ("lemmaG.8", "embedding"): Forgery(lambda e: in_all_runs(e, in_reverse), also=("non-zero",)),
    ("lemmaG.8", "non-zero"): Forgery(lambda e: in_all_runs(e, lambda r: scaled_neurons(r, 0.001, at=second_half(r)))),
    ("thmG.9", "margin"): Forgery(lambda e: of_other_samples(e, 0.01), also=("direction",)),
    ("thmG.9", "direction"): Forgery(lambda e: of_other_samples(e, 0.01), also=("margin",)),
    ("thmG.9", "approach"): Forgery(
        lambda e: with_end(e, lambda n: turned_network(n, 0.1)), also=("margin", "direction")
    ),
    ("lemmaG.10", "no-gap"): Forgery(lambda e: record_scaled(e, "upper", 1.1)),
    ("lemmaG.10", "dual"): Forgery(lambda e: record_scaled(e, "multipliers", 10.0)),
    ("thmG.11", "local-maximum"): Forgery(lambda e: centre_changed(e, stretched), also=("same-function",)),
    ("thmG.11", "same-function"): Forgery(lambda e: neighbours_changed(e, lambda n: scaled(n, 30.0))),
    ("thmH.2", "kkt"): Forgery(lambda e: directions_changed(e, stretched), also=("same-function", "global")),
    ("thmH.2", "same-function"): Forgery(lambda e: directions_changed(e, lambda n: scaled(n, 30.0))),
    ("thmH.2", "global"): Forgery(lambda e: directions_changed(e, stretched), also=("kkt", "same-function")),
    ("lemmaH.3", "kkt"): Forgery(
        lambda e: directions_changed(e, lambda n: turned_network(n, 0.7), at=slice(-1, None)), also=("class-vector",)
    ),
    ("lemmaH.3", "balanced"): Forgery(lambda e: directions_changed(e, stretched), also=("kkt", "class-vector")),
    ("lemmaH.3", "class-vector"): Forgery(lambda e: directions_changed(e, lambda n: scaled(n, 30.0))),
    ("appI.1.1", "stated"): Forgery(lambda e: closed_form_claimed(e, shift=-30.0)),
    ("appI.1.1", "kkt"): Forgery(lambda e: closed_form_changed(e, stretched), also=("stated", "margin")),
    ("appI.1.1", "margin"): Forgery(lambda e: closed_form_claimed(e, factor=1.1)),
    ("appI.1.1", "suboptimal"): Forgery(lambda e: best_claimed(e, margin=0.1)),
    ("appI.1.1", "nonlinear"): Forgery(lambda e: closed_form_changed(e, lambda n: scaled(n, 0.001))),
    ("appI.1.2", "neuron"): Forgery(lambda e: best_neuron_changed(e, leaning), also=("kkt",)),
    ("appI.1.2", "kkt"): Forgery(lambda e: best_neuron_changed(e, lambda w: 10.0 * w), also=("neuron",)),
    ("appI.1.2", "suboptimal"): Forgery(lambda e: best_claimed(e, margin=0.1)),
    ("appI.2", "events"): Forgery(every_event_a_death),
    ("appI.2", "speed"): Forgery(first_sample_opposite),
    ("appI.2", "one-way"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
}
