"""Nothing finished is lost: whatever follows a run may fail, and the run comes out with a sentence on what failed.

`train` on scikit-learn's digits 3 against 8 once ran for seconds, could not certify its end, and left nothing but that
error and status 2.
"""

import importlib
import json
from dataclasses import replace

import numpy as np
import pytest

from reluflow.after_run import Stage, StageFailed
from reluflow.certificates.limits.certified_limit import LimitIdentified
from reluflow.certificates.limits.levelling import LevelledOff
from reluflow.certificates.limits.undecided import limit_or_undecided
from reluflow.cli.main import run as run_command
from reluflow.data.registry import load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import TrainingInterrupted
from reluflow.experiment import Experiment
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import Network, balanced_initialization
from reluflow.study.task import StudyTask
from reluflow.study.whole_study import StudyInterrupted, study
from reluflow.study.workers import ProcessWorkers, SerialWorkers
from reluflow.sweep.measures import as_measures
from reluflow.sweep.worker import compute
from reluflow.theory.check import check, example_problem
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind

KEYS = {"outcome", "time", "log_time", "loss", "predictions", "steps", "crossings", "slides", "balancedness_drift"}
KEYS |= {"phases", "limit", "snapshots", "solver", "branching"}
ERROR = "ZeroDivisionError: made for the test"


def broken(*given, **more):
    raise ZeroDivisionError("made for the test")


def interrupted(*given, **more):
    raise KeyboardInterrupt


def make_fail(monkeypatch, place, how=broken):
    """Make the function or method at `module:name` raise."""
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    owner = importlib.import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    monkeypatch.setattr(owner, name, how)


@pytest.fixture
def command(capsys):
    def call(*words):
        with pytest.raises(SystemExit) as end:
            run_command([str(word) for word in words])
        captured = capsys.readouterr()
        return end.value.code, json.loads(captured.out) if "--json" in words else captured.out, captured.err

    return call


TRAIN_STAGES = [
    ("reluflow.certificates.limits.undecided:certified_limit", "Certifying the end of the run", 0),
    ("reluflow.certificates.certify:stationarity", "Certifying the end of the run", 0),
    ("reluflow.dynamics.train:find_phases", "Naming the phases", 0),
    ("reluflow.dynamics.event_driven.flow_run:FlowRun.limit", "Polishing the end point", 0),
    ("reluflow.dynamics.event_driven.flow_run:FlowRun.balancedness_drift", "Measuring the drift of balancedness", 0),
    ("reluflow.dynamics.branching:branching_of", "Running the flow again", 0),
    ("reluflow.dynamics.checkpoint:Checkpoint.remove", "Keeping the checkpoint up to date", 0),
    ("reluflow.dynamics.storage:save_trajectory", "Saving the trajectory", 2),
    ("reluflow.network:write_network", "Saving the network", 2),
]


@pytest.mark.parametrize(("place", "stage", "status"), TRAIN_STAGES, ids=[place for place, *_ in TRAIN_STAGES])
def test_train_keeps_the_run(command, monkeypatch, tmp_path, place, stage, status):
    """Status 2 only where a file that was asked for is not there."""
    make_fail(monkeypatch, place)
    words = ["train", "three-points", "--width", 5, "--times", "0.5,2", "--check-rtol", "--json"]
    kept = ["--save", tmp_path / "run.nc", "--save-network", tmp_path / "end.npz", "--checkpoint", tmp_path / "check"]
    left, answer, said = command(*words, *kept)
    assert left == status
    assert set(answer) >= KEYS
    assert [snapshot["t"] for snapshot in answer["snapshots"]] == [0.5, 2.0]
    assert answer["outcome"] == "stationary"
    assert answer["loss"] > 0.0
    assert f"Note: {stage}" in said
    assert ERROR in said
    assert (answer["limit"]["kind"] == "undecided") == stage.startswith("Certifying")


def test_an_undecided_limit_has_every_key_of_a_limit_and_says_why(command, monkeypatch):
    words = ["train", "three-points", "--width", 5, "--until", 8]
    _, whole, _ = command(*words, "--json")
    make_fail(monkeypatch, "reluflow.certificates.limits.undecided:certified_limit")
    status, answer, said = command(*words, "--json")
    assert status == 0
    assert set(answer["limit"]) == set(whole["limit"])
    assert answer["limit"]["proof"] is False
    assert answer["limit"]["multipliers"] == []
    for sentence in (answer["limit"]["reason"], answer["limit"]["reasons"][0], said):
        assert f"Certifying the end of the run failed with {ERROR}." in sentence
    status, printed, said = command(*words)
    assert status == 0
    assert "undecided (not a proof)" in printed
    assert said.count(ERROR) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interruption_comes_through(error):
    with pytest.raises(error), Stage("Certifying"):
        raise error


def test_an_interruption_that_compiled_code_wraps_comes_through():
    with pytest.raises(SystemError), Stage("Certifying"):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()


@pytest.mark.parametrize(
    ("place", "stage", "kind"),
    [
        ("reluflow.certificates.limits.undecided:certified_limit", "Certifying the end of the run", "undecided"),
        ("reluflow.certificates.limits.limit_so_far:certify", "Certifying the end of the run", "undecided"),
        ("reluflow.dynamics.branching:branching_of", "Running the flow again, more exactly,", "not-stationary"),
    ],
)
def test_ctrl_c_in_what_follows_a_run_leaves_its_printout(command, monkeypatch, place, stage, kind):
    """Certifying a large classifier may take longer than its run: Ctrl-C there ended with "Interrupted." and no run."""
    data, asked = ("three-points", ()) if "certified_limit" in place else ("min-toy", ("--until", 2))
    words = ["train", data, "--width", 5, "--check-rtol", *asked]
    make_fail(monkeypatch, place, interrupted)
    status, answer, said = command(*words, "--json")
    assert status == 0
    assert set(answer) >= KEYS
    assert answer["outcome"] == ("stationary" if data == "three-points" else "horizon")
    assert (answer["limit"]["kind"], answer["limit"]["proof"]) == (kind, False)
    assert f"Note: {stage} was interrupted." in said
    status, printed, said = command(*words)
    assert status == 0
    assert f"{kind} (not a proof)" in printed
    assert "balancedness drift" in printed


@pytest.mark.parametrize("name", ["limit", "balancedness_drift"])
def test_ctrl_c_while_the_end_is_polished_keeps_the_run(command, monkeypatch, name):
    """The run was over, and the interruption came out without it."""
    problem = TrainingProblem(load("three-points"), SquareLoss(), Network([[0.1, 0.8]], [0.8]))
    whole = train(problem, EventDrivenFlow())
    make_fail(monkeypatch, f"reluflow.dynamics.event_driven.flow_run:FlowRun.{name}", interrupted)
    with pytest.raises(TrainingInterrupted) as interruption:
        train(problem, EventDrivenFlow())
    kept = interruption.value.trajectory
    assert kept.outcome is whole.outcome
    assert kept.loss == pytest.approx(whole.loss, rel=1e-9)
    np.testing.assert_array_equal(kept.times, whole.times)
    status, printed, _ = command("train", "three-points", "--width", 5)
    assert status == 0
    assert "balancedness drift" in printed


def test_ctrl_c_while_the_run_of_a_study_is_certified_keeps_the_run(monkeypatch):
    """With one process, the study had nothing but its data."""
    make_fail(monkeypatch, "reluflow.certificates.limits.undecided:certified_limit", interrupted)
    with pytest.raises(StudyInterrupted) as interruption:
        study("three-points", width=8, seeds=0, theorems=(), processes=SerialWorkers())
    flow = interruption.value.study.flow
    assert flow.trajectory.outcome.code == "stationary"
    assert "was interrupted" in flow.limit.reason
    assert not flow.limit.is_proof


def test_a_failure_is_a_warning_in_python(monkeypatch):
    problem = TrainingProblem(load("three-points"), SquareLoss(), Network([[0.1, 0.8]], [0.8]))
    trajectory = train(problem, EventDrivenFlow(), until=1.0)
    make_fail(monkeypatch, "reluflow.certificates.limits.undecided:certified_limit")
    with pytest.warns(StageFailed, match="Certifying the end of the run failed"):
        limit = limit_or_undecided(trajectory)
    assert not limit.is_proof
    assert not limit.certificate.is_proved
    assert limit.network is trajectory.network


@pytest.mark.parametrize(
    ("rule", "place"),
    [
        (LimitIdentified(), "reluflow.certificates.limits.certified_limit:nearest_direction"),
        (LevelledOff(), "reluflow.certificates.limits.levelling:is_acted_on"),
    ],
)
def test_a_stopping_rule_that_cannot_certify_does_not_end_the_run(monkeypatch, rule, place):
    data = load("min-toy")
    network = balanced_initialization(data, width=10, scale=1e-3, rng=np.random.default_rng(0))
    make_fail(monkeypatch, place)
    with pytest.warns(StageFailed, match=ERROR):
        trajectory = train(TrainingProblem(data, LogisticLoss(), network), EventDrivenFlow(), until=rule, horizon=1e6)
    assert trajectory.outcome.code == "horizon"


STUDY_STAGES = [
    ("reluflow.certificates.limits.undecided:certified_limit", "Certifying the end of the run", 0),
    ("reluflow.study.flow_summary:_at_phase_ends", "Finding the networks at the ends of the phases", 0),
    ("reluflow.study.plan:neuron_groups", "Grouping the neurons of the run", 0),
    ("reluflow.study.plan:Repetitions.begin", "Planning the repetitions of the run", 0),
    ("reluflow.study.pictures:Drawing.drawn_in", "Drawing dataset.png", 0),
    ("reluflow.study.growing_report:drawings_of", "Writing", 2),
    ("reluflow.study.growing_report:write_report", "Writing", 2),
    ("reluflow.study.pictures:animate_study", "Drawing the moving picture", 0),
    ("reluflow.dynamics.trajectory:Trajectory.to_html", "Writing the page of the run", 0),
]


@pytest.mark.parametrize(
    ("place", "stage", "status"),
    [*(pytest.param(*row, marks=pytest.mark.slow) for row in STUDY_STAGES[2:6]), *STUDY_STAGES[:2], *STUDY_STAGES[6:]],
    ids=lambda value: value if ":" in str(value) else "",
)
def test_a_study_keeps_its_run(request, command, monkeypatch, tmp_path, place, stage, status):
    """Where the report itself cannot be written the finished parts stay in their folder, for the same command."""
    if not place.endswith("Drawing.drawn_in"):
        request.getfixturevalue("no_pictures")
    make_fail(monkeypatch, place)
    animate = ["--animate"] if "animate" in place else []
    left, answer, said = command(
        "study", "three-points", "--quick", "--width", 8, *animate, "--out", tmp_path, "--json"
    )
    assert left == status
    assert answer["flow"]["outcome"] == "stationary"
    assert f"Note: {stage}" in said
    assert ERROR in said
    assert (tmp_path / "report.html").exists() == (status == 0)
    assert (tmp_path / ".pieces").exists() == (status != 0)
    assert all((tmp_path / name).exists() for name in answer["files"])


def test_nothing_is_said_of_the_margin_of_an_undecided_direction(monkeypatch):
    make_fail(monkeypatch, "reluflow.certificates.limits.undecided:certified_limit")
    with pytest.warns(StageFailed, match=ERROR):
        found = study(load("min-toy"), width=8, seeds=0, theorems=())
    words = " ".join(found.verdict())
    assert "its direction converges to a limit that could not be certified (computed, not proved)" in words
    assert "margin is" not in words


@pytest.mark.parametrize("task", ["diagnose", "extremal_vectors", "alignment_of", "forecast"])
def test_one_part_of_a_study_that_fails_is_an_open_question(monkeypatch, task):
    make_fail(monkeypatch, f"reluflow.study.plan:{task}")
    with pytest.warns(StageFailed, match=ERROR):
        found = study(load("three-points"), width=8, seeds=0, theorems=())
    assert found.flow is not None
    assert found.flow.has_ended
    assert any(ERROR in question for question in found.open_questions)


@pytest.mark.usefixtures("loaded_workers")
@pytest.mark.parametrize("workers", [SerialWorkers, lambda: ProcessWorkers(1)])
def test_a_task_with_a_programming_error_is_a_sentence_and_the_next_is_done(workers):
    """It raised in the process that tells the study, and everything that was found went with it."""
    team = workers()
    try:
        team.submit(StudyTask("odd", divmod, (1, 0)))
        team.submit(StudyTask("next", abs, (-2,)))
        with pytest.warns(StageFailed, match="Computing odd failed with ZeroDivisionError"):
            odd = team.next_finished(300.0)
        assert odd.refusal.startswith("Computing odd failed with ZeroDivisionError: ")
        assert team.next_finished(300.0).value == 2
    finally:
        team.close()


def fragile(trajectory):
    return broken(trajectory)


def test_a_case_of_a_sweep_keeps_the_measures_that_could_be_taken():
    """One measure that failed took the loss and the outcome of the run with it."""
    case = Experiment("three-points", width=5)
    record = compute(case, "", (), as_measures(["outcome", fragile, "loss"]))
    assert record.status == "failed"
    assert record.measures[:2] == ("stationary", None)
    assert record.measures[2] > 0.0
    assert record.error == f"`fragile`: {ERROR}"
    assert "broken" in record.trace


def test_a_conclusion_that_cannot_be_measured_leaves_the_others():
    theorem = theorem_named("boursier2024:thm1")
    first, *others = theorem.conclusions
    forged = replace(theorem, conclusions=(replace(first, measure=broken), *others))
    problem = example_problem(theorem, load("three-points"))
    with pytest.warns(StageFailed, match=f"Measuring {first.name} failed with {ERROR}"):
        verdict = check(forged, problem, max_steps=1_500)
    assert verdict.kind is not VerdictKind.HOLDS
    assert verdict.conclusions[0].holds is None
    assert len(verdict.conclusions) == len(theorem.conclusions)


def test_a_direction_whose_margin_a_solver_lost_is_none(command, tmp_path):
    """Samples 1e11 apart in length: the direction solved for had a margin of -3e-7, and no sample pulled at it.

    Neurons were then followed under no samples at all, which is refused: `train` ended with status 2 and nothing else.
    """
    samples = "7.477640232909864e-07,-9.238613254649787e-08,1\n141978.6974337457,111925.4085345923,-1\n"
    (tmp_path / "data.csv").write_text(f"x1,x2,y\n{samples}")
    (tmp_path / "net.csv").write_text("w1,w2,a\n-0.5047196192490662,0.7130483632422405,-0.00021278599180665818\n")
    status, answer, said = command(
        "train", tmp_path / "data.csv", "--init", tmp_path / "net.csv", "--leak", 0.5, "--until", "1e-12", "--json"
    )
    assert "failed" not in said
    assert status == 0
    assert answer["limit"]["kind"] == "not-stationary"
    assert "judged as it is" in answer["limit"]["reason"]
