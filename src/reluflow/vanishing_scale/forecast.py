"""forecast: the path of the flow as its scale vanishes, without growing anything from that scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IndexArray
from reluflow.budget import Budget
from reluflow.certificates.best_neuron import NeuronOracle
from reluflow.certificates.certificate import Certificate
from reluflow.certificates.certify import certify
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.trajectory import Outcome
from reluflow.network.network import Network, row_norms
from reluflow.vanishing_scale.dormant import DormantNeurons, SettledNeurons, pull_on, settle, turn
from reluflow.vanishing_scale.orbit import FALLEN_ASLEEP, RELEASE, OrbitEnd, follow
from reluflow.vanishing_scale.process import Jump, JumpProcess, Saddle
from reluflow.vanishing_scale.saddle_forces import stationary_forces

Progress = Callable[[str], None] | None
SAME_CLOCK = 1e-9  # relative difference of two clock times that rounding may make
MOST_JUMPS = 200
HELD = 1e-6  # share of what is drawn across a ray that an orbit carries: see `_held_rays`


def forecast(
    problem: TrainingProblem,
    *,
    rtol: float = 1e-10,
    max_seconds: float = np.inf,
    progress: Progress = None,
) -> JumpProcess:
    """The jump process that the gradient flow becomes as the scale of its initial network vanishes.

    In units of log(1/scale) the flow waits at saddles and jumps between them in no time. At a saddle the forces are
    constant: neurons that sleep align with an extremal vector D of these forces, at once on this clock, and ln of their
    norm grows at the rate |D|. The first to reach norm 1 wake up; the flow from the saddle along their bundle ends at
    the next saddle. Whatever the mathematics does not decide is left open, and the process ends where it could matter.

    Parameters
    ----------
    problem
        Dataset, loss and initial network; only the shape of the network counts, its `log_scale` is what vanishes.
    rtol
        Tolerance of the flow on the orbits between saddles.
    max_seconds
        Processor time allowed; the process is open where that is spent.
    progress
        Called with a few words before every orbit.

    Returns
    -------
    JumpProcess
        The saddles, the jumps between them with their times, and the end.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.Dataset(np.eye(4), [1.0, 0.6, -0.8, -0.3])
    >>> network = reluflow.balanced_initialization(data, width=12, scale=1.0, rng=np.random.default_rng(5))
    >>> process = forecast(reluflow.TrainingProblem(data, reluflow.SquareLoss(), network))
    >>> [(round(jump.clock, 3), round(jump.loss_after, 5)) for jump in process.jumps]
    [(3.43, 0.09125), (5.0, 0.01125)]
    """
    problem.refuse_variant("a forecast", "leave it out.")
    return _Forecast(problem, rtol, max_seconds, progress).run()


class _Forecast:
    """The loop over plateaus: who sleeps, who is awake, what the clock says."""

    def __init__(self, problem: TrainingProblem, rtol: float, max_seconds: float, progress: Progress) -> None:
        self.dataset, self.loss, self.rtol = problem.dataset, problem.loss, rtol
        self.allowed = Budget(max_seconds)
        self.progress = progress
        network = problem.network.replace(log_scale=0.0)
        self.start = network
        self.sleepers = DormantNeurons.at_start(np.array(network.w), np.array(network.a))
        self.awake = np.zeros(network.num_neurons, bool)
        self.w, self.a = np.zeros_like(network.w), np.zeros_like(network.a)
        # neurons that escape along one extremal vector stay parallel for ever: one of them is carried for all
        self.leader = np.arange(network.num_neurons)
        self.share = np.ones(network.num_neurons)  # size, of the leader's
        self.faded = np.zeros(self.dataset.n, bool)
        self.clock = 0.0
        self.jumps: list[Jump] = []
        self.saddles: list[Saddle] = []
        self.open_points: list[str] = []
        self.blurred = ""  # why the process is no longer exact although it goes on
        lengths = np.linalg.norm(self.dataset.X, axis=1)
        self.neuron_size = float(np.sqrt(self.loss.output_scale(self.dataset.y) / np.max(lengths)))
        self.force_scale = float(np.abs(self.loss.label_forces(self.dataset.y)) @ lengths)

    def run(self) -> JumpProcess:
        """All plateaus in order."""
        elapsed = 0.0
        self.forces = self._forces()
        while True:
            where = self.dataset.X, self.forces, self.start.leak
            self._take(settle(self.sleepers, *where, ~self.awake, elapsed, max_seconds=self.allowed.left))
            self._bound_open()
            self.saddles.append(self._saddle())
            ending = self._plateau()
            if ending is not None:
                return self._process(ending)
            if len(self.jumps) >= MOST_JUMPS:
                return self._process("more-jumps")
            elapsed = self.elapsed

    def _plateau(self) -> str | None:
        """Wait at this saddle for the next escape and follow it; how the process ends, if it does."""
        while True:
            asleep = ~self.awake
            rates, levels = self.sleepers.rate, self.sleepers.level
            grows = asleep & (rates > 0.0)
            waits = np.where(grows, -levels / np.where(grows, rates, 1.0), np.inf)
            is_open = asleep & self.sleepers.is_open
            escape = float(np.min(waits[~is_open], initial=np.inf))
            doubt = float(np.min(waits[is_open], initial=np.inf))
            turns = self.sleepers.turning_times(asleep)
            turning = float(np.min(turns, initial=np.inf))
            fading = asleep & self.sleepers.is_unbalanced & (rates < 0.0) & ~self.sleepers.is_open & np.isinf(turns)
            sinks = np.where(fading, (levels + 1.0) / np.where(fading, -rates, 1.0), np.inf)
            sinking = float(np.min(sinks, initial=np.inf))
            first = min(escape, doubt, turning, sinking)
            if np.isinf(first):
                return "final"
            if doubt <= first * (1.0 + SAME_CLOCK):
                return "open"
            slack = SAME_CLOCK * max(first, 1e-3 * (self.clock + first))
            if min(turning, sinking) <= first + slack:
                if escape <= first + slack:
                    self.open_points.append(
                        f"A neuron turns at the clock {self.clock + first:.9g}, at which another escapes: which of the "
                        "two is first is not decided."
                    )
                    return "open"
                self._move(first)
                if turning <= sinking:
                    j = int(np.argmin(turns))
                    self._take(turn(self.sleepers, j, self.dataset.X, self.forces, self.start.leak))
                else:
                    j = int(np.argmin(sinks))
                    why = f"Neuron {j + 1} shrinks back to the size of its a^2 - |w|^2, and may change its sign there."
                    self._take(SettledNeurons(self._opened(j), {j: why}))
                self._bound_open()
                continue
            bundle = asleep & ~is_open & (waits <= first + slack)
            self._move(first)
            return self._jump(bundle)

    def _move(self, duration: float) -> None:
        self.clock += duration
        self.sleepers = self.sleepers.advanced(duration)

    def _take(self, aligned: SettledNeurons) -> None:
        self.sleepers = aligned.neurons
        self.open_points += aligned.open_points.values()

    def _opened(self, j: int) -> DormantNeurons:
        is_open = self.sleepers.is_open.copy()
        is_open[j] = True
        return self.sleepers.replace(is_open=is_open)

    def _bound_open(self) -> None:
        """A neuron whose way is open grows at most as fast as the best of its sign, or of both if that can change."""
        rate = self.sleepers.rate.copy()
        fastest: dict[tuple[int, ...], float] = {}
        for j in np.flatnonzero(self.sleepers.is_open & ~self.awake):
            own = int(np.sign(self.sleepers.a[j]))
            signs = (1, -1) if own == 0 or self.sleepers.is_unbalanced[j] else (own,)
            if signs not in fastest:
                oracle = NeuronOracle(self.dataset.X, np.sign(self.forces), self.start.leak, signs=signs)
                fastest[signs] = oracle.best(self.forces).upper
            rate[j] = fastest[signs]
        self.sleepers = self.sleepers.replace(rate=rate)

    def _jump(self, bundle: BoolArray) -> str | None:
        """Release a bundle, follow the orbit and take stock; how the process ends, if it does."""
        sleepers = self.sleepers
        members = np.flatnonzero(bundle)
        before, awake_before = self._loss(), self.awake
        rays = np.unique(np.round(sleepers.ray[members], 6) * np.sign(sleepers.a[members])[:, None], axis=0)
        is_tied = len(rays) > 1
        if is_tied and not np.all(np.isfinite(sleepers.offset[members])):
            self.open_points.append(
                f"Neurons {_listed(members)} escape at one time, the clock {self.clock:.9g}, and the ratio of their "
                "sizes, on which the way depends, is not known."
            )
            return "open"
        offset = np.where(np.isfinite(sleepers.offset), sleepers.offset, 0.0)
        # every member grows at its own rate: go back to when the largest had the size of release
        lead = np.max((offset[members] - np.log(RELEASE * self.neuron_size)) / sleepers.rate[members])
        sizes = np.exp(offset[members] - sleepers.rate[members] * lead)
        self._appoint_leaders(members, sizes)
        while True:
            network, sleeping, carried = self._released(members, sizes)
            if self.progress is not None:
                self.progress(f"jump {len(self.jumps) + 1} at the clock {self.clock:.6g}")
            rays = np.where((sleepers.is_on_ray & sleeping)[:, None], self._held_rays(), np.nan)
            start = network.permuted(carried), self.dataset, self.loss, sleeping[carried], rays[carried]
            end = follow(*start, self.rtol, self.allowed)
            if end.ended_by is not Outcome.RIDGE or end.blamed < 0 or not sleeping[carried[end.blamed]]:
                break
            j = int(carried[end.blamed])
            why = f"Neuron {j + 1}, asleep, comes to a ridge while the network jumps at the clock {self.clock:.9g}."
            self._take(SettledNeurons(self._opened(j), {j: why}))
        if end.ended_by is not Outcome.STATIONARY:
            self.open_points.append(end.why_unfinished(self.clock))
            return "open"
        self._arrive(members, self._for_all(end, carried, network, sleeping), lead)
        self.jumps.append(
            Jump(
                clock=self.clock,
                delay=float(end.halfway - lead) if np.all(np.isfinite(sleepers.offset[members])) else np.nan,
                loss_before=before,
                loss_after=self._loss(),
                neurons=tuple(int(j) for j in members),
                extremal=sleepers.pull[members],
                is_tied=is_tied,
                runner_up=float(np.max(sleepers.level[~awake_before & ~bundle], initial=-np.inf)),
                fallen_asleep=self.fell_asleep,
                times=end.times - lead,
                losses=end.losses,
            )
        )
        return None

    def _appoint_leaders(self, members: IndexArray, sizes: FloatArray) -> None:
        """The largest member of every bundle leads it."""
        sleepers = self.sleepers
        for place in np.argsort(-sizes, kind="stable"):
            j = int(members[place])
            self.leader[j], self.share[j] = j, 1.0
            for other in members[np.argsort(-sizes, kind="stable")]:
                size = float(np.linalg.norm(sleepers.pull[j]))
                is_parallel = np.linalg.norm(sleepers.pull[j] - sleepers.pull[other]) <= 1e-9 * size
                if is_parallel and sleepers.a[j] * sleepers.a[other] > 0.0:
                    self.leader[j] = int(other)
                    self.share[j] = sizes[place] / sizes[int(np.flatnonzero(members == other)[0])]
                    break

    def _released(self, members: IndexArray, sizes: FloatArray) -> tuple[Network, BoolArray, IndexArray]:
        """The network at the saddle with the bundle at its size of release, who sleeps in it, and who is carried.

        A leader is carried for its bundle. A neuron whose way is open is not carried: the network does not feel it, and
        it must not stop the orbit.
        """
        sleepers = self.sleepers
        w, a = self.w.copy(), self.a.copy()
        asleep = ~self.awake
        w[asleep], a[asleep] = sleepers.w[asleep], sleepers.a[asleep]
        w[members] *= sizes[:, None]
        a[members] *= sizes
        sleeping = asleep.copy()
        sleeping[members] = False
        weight = self.start.weight.copy()
        is_heavy = np.flatnonzero(~sleeping)
        masses = np.bincount(self.leader[is_heavy], weights=(weight * self.share**2)[is_heavy], minlength=weight.size)
        is_carried = np.where(sleeping, ~sleepers.is_open, masses > 0.0)
        network = self.start.replace(w=w, a=a, weight=np.where(sleeping | (masses == 0.0), weight, masses))
        return network, sleeping, np.flatnonzero(is_carried)

    def _held_rays(self) -> FloatArray:
        """The rays with so little across that no stretch of an orbit makes it count, yet on the same sides of walls."""
        sleepers = self.sleepers
        unit = sleepers.w / np.maximum(row_norms(sleepers.w), 1e-300)[:, None]
        return np.asarray(sleepers.ray + HELD * (unit - sleepers.ray))

    def _for_all(self, end: OrbitEnd, carried: IndexArray, network: Network, sleeping: BoolArray) -> OrbitEnd:
        """The end of an orbit with entries for the neurons that were not carried: as their leaders, or as they were."""
        w, a, growth = network.w.copy(), network.a.copy(), np.zeros(network.num_neurons)
        w[carried], a[carried], growth[carried] = end.network.w, end.network.a, end.growth
        on_ray = np.zeros(network.num_neurons, bool)
        on_ray[carried] = end.on_ray
        led = np.flatnonzero(~sleeping)
        w[led], a[led] = self.share[led, None] * w[self.leader[led]], self.share[led] * a[self.leader[led]]
        return replace(end, network=self.start.replace(w=w, a=a), growth=growth, on_ray=on_ray)

    def _arrive(self, members: IndexArray, end: OrbitEnd, lead: float) -> None:
        """Take over the network at the end of an orbit."""
        sleepers, awake = self.sleepers, self.awake.copy()
        awake[members] = True
        self.faded = end.faded
        z = np.column_stack([end.network.w, end.network.a])
        norms = row_norms(z)
        unit = z / norms[:, None]
        heavy = Network(z[awake, :-1], z[awake, -1], leak=self.start.leak, weight=self.start.weight[awake])
        forces = np.where(self.faded, 0.0, self.loss.forces(heavy.outputs(self.dataset.X), self.dataset.y))
        largest = float(np.max(norms[awake]))
        small = awake & (norms[self.leader] <= FALLEN_ASLEEP * largest)
        fell = [
            int(j)
            for j in np.flatnonzero(small)
            if np.linalg.norm(pull_on(unit[j, :-1], self.dataset.X, forces, self.start.leak)) > 1e-5 * self.force_scale
        ]
        awake[fell] = False
        self.leader[fell], self.share[fell] = fell, 1.0
        self.fell_asleep = tuple(fell)
        offset = sleepers.offset - sleepers.rate * lead + end.growth
        offset[fell] = np.log(norms[fell])
        level = sleepers.level.copy()
        level[fell] = 0.0
        if self.loss.fades and np.any(self.faded):
            offset[:] = np.nan  # the flow is not done at any finite time: no constant is left
        asleep = ~awake
        w, a = np.where(asleep[:, None], unit[:, :-1], sleepers.w), np.where(asleep, unit[:, -1], sleepers.a)
        keeps = end.on_ray & asleep
        keeps[fell] = False
        self._note_fading(unit[:, :-1], asleep)
        w[keeps] = sleepers.w[keeps]  # with what is left across, which the orbit carries exactly
        a[keeps] = sleepers.a[keeps]
        self.sleepers = sleepers.replace(w=w, a=a, level=level, offset=offset, is_on_ray=keeps)
        self.awake = awake
        self.w, self.a = np.where(awake[:, None], z[:, :-1], 0.0), np.where(awake, z[:, -1], 0.0)
        self.elapsed = end.duration - lead
        self.forces = self._forces()

    def _note_fading(self, directions: FloatArray, asleep: BoolArray) -> None:
        """Say so where forces that fade, never quite zero, may still turn a neuron that sleeps."""
        touched = asleep & np.any(directions @ self.dataset.X[self.faded].T > 0.0, axis=1)
        touched |= asleep & (self.start.leak > 0.0) & bool(np.any(self.faded))
        if np.any(touched & ~self.sleepers.is_open) and not self.blurred:
            self.blurred = (
                f"Neuron {int(np.flatnonzero(touched)[0]) + 1} sleeps where samples act whose forces fade but never "
                "vanish: it is followed as if they had vanished."
            )

    def _heavy(self) -> Network:
        """The neurons that are awake; the zero neuron where there is none."""
        if not np.any(self.awake):
            return Network(np.zeros((1, self.start.d)), np.zeros(1), leak=self.start.leak)
        weight = self.start.weight[self.awake]
        return Network(self.w[self.awake], self.a[self.awake], leak=self.start.leak, weight=weight)

    def _loss(self) -> float:
        values = self.loss.value(self._heavy().outputs(self.dataset.X), self.dataset.y)
        return float(self.loss.sample_weight(self.dataset.n) * np.sum(values[~self.faded]))

    def _forces(self) -> FloatArray:
        """The forces at this saddle, made exactly stationary for the neurons that are awake."""
        X = self.dataset.X
        forces = self.loss.forces(self._heavy().outputs(X), self.dataset.y)
        forces = np.where(self.faded, 0.0, forces)
        if self._loss() <= 1e-14 * self.loss.total(np.zeros(self.dataset.n), self.dataset.y):
            return np.zeros_like(forces)
        return stationary_forces(forces, X, self.w[self.awake], self.start.leak)

    def _saddle(self) -> Saddle:
        """The saddle it is at, with its certificate: the neurons awake, beside one of size zero."""
        heavy = self._heavy()
        if np.any(self.awake):
            heavy = heavy.replace(
                w=np.vstack([heavy.w, np.zeros(heavy.d)]),
                a=np.append(heavy.a, 0.0),
                weight=np.append(heavy.weight, 1.0),
            )
        certificate = certify(heavy, self.dataset, self.loss)
        return Saddle(self.clock, self._loss(), self._all_neurons(), certificate, self.forces)

    def _all_neurons(self) -> Network:
        """All neurons, those asleep at exactly zero."""
        return self.start.replace(w=self.w, a=self.a)

    def _process(self, ending: str) -> JumpProcess:
        if ending == "more-jumps":
            self.open_points.append(f"More than {MOST_JUMPS} jumps: the rest is not followed.")
            ending = "open"
        why = [*dict.fromkeys(self.open_points)] if ending == "open" else []
        return JumpProcess(
            jumps=tuple(self.jumps),
            saddles=tuple(self.saddles),
            network=self._all_neurons(),
            loss=self._loss(),
            certificate=self._end_certificate(),
            is_exact=ending == "final" and not self.blurred,
            why=" ".join(why) or self.blurred,
            remarks=tuple(dict.fromkeys(self.open_points)),
            faded=self.faded,
            levels=np.where(self.awake, 0.0, self.sleepers.level),
        )

    def _end_certificate(self) -> Certificate:
        """What the limit is: the neurons that sleep stand where they are, too light to matter."""
        asleep = ~self.awake
        w, a = self.w.copy(), self.a.copy()
        light = 1e-100 * self.neuron_size
        w[asleep], a[asleep] = light * self.sleepers.w[asleep], light * self.sleepers.a[asleep]
        return certify(self.start.replace(w=w, a=a), self.dataset, self.loss)


def _listed(neurons: IndexArray) -> str:
    """Numbers for a sentence, counted from 1."""
    return ", ".join(str(int(j) + 1) for j in neurons)
