"""One description of a run, through every form and back."""

import json
import tomllib

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as budget
from hypothesis import strategies as st

import reluflow
from reluflow import numerics_version
from reluflow.cli.run_options import experiment_of_words
from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.experiment.experiment import settings
from reluflow.experiment.theorem_setting import experiment_for
from reluflow.network import Network, write_network
from reluflow.sweep.run import sweep
from reluflow.theory.check import example_problem
from reluflow.theory.registry import theorem_named

POSITIVE = st.floats(1e-300, 1e300)
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1, max_size=12
).filter(lambda text: text.strip() != "")
NUMBERS = st.floats(-1e6, 1e6).map(lambda x: x + 0.0)
SCALES = st.tuples(st.integers(1, 10**17), st.integers(-4000, 100)).map(lambda pair: f"{pair[0]}e{pair[1]}")
TABLES = st.integers(2, 4).flatmap(
    lambda d: st.lists(st.tuples(*[NUMBERS] * d), min_size=1, max_size=4).map(tuple),
)
OPTIONAL = {
    "target": WORDS, "features": WORDS, "drop": WORDS, "labels": WORDS, "drop_missing": st.booleans(),
    "standardise": st.booleans(), "bias": st.booleans(),
    "loss": st.sampled_from(["square", "logistic", "exponential", "softmax"]),
    "reduction": st.sampled_from(["mean", "sum"]), "factor": POSITIVE, "leak": st.floats(0, 1),
    "weight_decay": st.floats(0, 1e300), "frozen_output": st.booleans(),
    "width": st.one_of(st.integers(1, 10**6), st.just("inf")), "scale": SCALES,
    "init": st.sampled_from(["balanced", "dominated", "folder/net.npz", "-x.csv"]),
    "output_bias": st.sampled_from(["none", "fixed", "train"]),
    "nodes": st.integers(1, 10**6), "seed": st.integers(0, 2**40), "method": st.sampled_from(["flow", "gd", "sgd"]),
    "solver": st.sampled_from(["auto", "event-driven", "collocation"]), "rtol": POSITIVE,
    "device": st.sampled_from(["cpu", "gpu"]), "ridge": st.sampled_from(["stop", "positive", "negative", "stay"]),
    "until": st.one_of(st.sampled_from(["stationary", "aligned", "direction"]), POSITIVE), "horizon": POSITIVE,
    "times": st.lists(POSITIVE, max_size=3), "lr": POSITIVE, "iterations": st.integers(1, 10**9),
    "batch": st.integers(1, 10**6),
}  # fmt: skip
EXPERIMENTS = st.builds(
    lambda data, given: Experiment(data, **given),
    st.sampled_from(["three-points", "linear-teacher:n=6,noise=0.5", "some folder/points, old.csv", "a=b&c#d.csv"]),
    st.fixed_dictionaries({}, optional=OPTIONAL),
)
DATA_IN_HAND = st.builds(
    lambda X, neurons, settings: Experiment("mine", X=X, y=[row[0] for row in X], neurons=neurons, **settings),
    TABLES, st.none() | TABLES, st.fixed_dictionaries({}, optional=OPTIONAL),
)  # fmt: skip


@budget(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(EXPERIMENTS)
@example(Experiment("three-points"))
@example(Experiment("-x.csv", features="-a,--b", labels="\x7f,\\"))
def test_every_form_gives_the_same_experiment_back(experiment):
    assert experiment_of_words(experiment.options()) == experiment
    check_documents_and_links(experiment)


@budget(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(DATA_IN_HAND)
def test_data_and_neurons_themselves_go_through_documents_and_links(experiment):
    check_documents_and_links(experiment)
    with pytest.raises(InvalidInputError, match="`X` holds numbers, which no option takes"):
        experiment.options()


def check_documents_and_links(experiment):
    assert Experiment.from_document(tomllib.loads(experiment.to_toml())) == experiment
    assert Experiment.from_document(json.loads(experiment.to_json())) == experiment
    assert Experiment.from_link(experiment.to_link()) == experiment
    names = {}
    exec(experiment.python_lines().partition("problem =")[0], names)
    assert names["experiment"] == experiment
    assert hash(names["experiment"]) == hash(experiment)


def test_every_field_is_among_those_sent_through_all_forms():
    assert set(settings()) == {"data", "X", "y", "neurons", *OPTIONAL}


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("#v=1&name=three-points", Experiment("three-points", loss="square", width=60, lr=0.01, iterations=20_000)),
        (
            "http://127.0.0.1:8642/k3/#v=1&name=min-toy&loss=exponential&reduction=sum&factor=2&leak=0.25&width=12"
            "&scale=1e-400&init=dominated&seed=7&ghost.scale=0.1&view.at=0.5&view.axis=linear",
            Experiment(
                "min-toy", loss="exponential", reduction="sum", factor=2.0, leak=0.25, width=12, scale="1e-400",
                init="dominated", seed=7, lr=0.01, iterations=20_000,
            ),
        ),
        (
            "#v=1&name=three-points+%28edited%29&X=-0.75,1;-0.5,1&y=1.1,0.1&bias=true&width=inf&neurons=1,2,0,0.5",
            Experiment(
                "three-points (edited)", X=[[-0.75, 1], [-0.5, 1]], y=[1.1, 0.1], bias=True, loss="square", width="inf",
                neurons=[[1, 2, 0, 0.5]], lr=0.01, iterations=20_000,
            ),
        ),
        (
            "#v=1&name=three-points&loss=square&width=20&scale=0.001&init=balanced&seed=0&method=gd&lr=0.5&iterations=9",
            Experiment("three-points", loss="square", width=20, method="gd", lr=0.5, iterations=9),
        ),
    ],
)  # fmt: skip
def test_links_of_version_0_2_open(link, expected):
    """As the page and the pictures of a sweep wrote them."""
    assert Experiment.from_link(link) == expected


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("three-points", "must be a link with its state after #"),
        ("#name=three-points", "must be a link of version 1, got None"),
        ("#v=2&name=three-points", "must be a link of version 1, got '2'"),
        ("#v=1&widht=3", "`widht` is not a field of an experiment; did you mean width"),
        ("#v=1&leak=2", r"`leak` must lie in \[0, 1\], got '2'"),
        ("#v=1&width=3&width=4", "every field once"),
    ],
)
def test_links_that_cannot_be_are_refused(link, words):
    with pytest.raises(InvalidInputError, match=words):
        Experiment.from_link(link)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"width": 0}, "`width` must be a whole number of at least 1, or inf, got '0'"),
        ({"scale": -1}, "`scale` must be a positive decimal"),
        ({"until": "never"}, "`until` must be stationary, aligned, direction or a positive time"),
        ({"weight_decay": -0.1}, "`weight_decay` must be at least 0"),
        ({"X": [[1.0]]}, "`X` and `y` must be given together"),
        ({"X": [[1.0]], "y": [1.0, 2.0]}, "one label for each of the 1 samples, got 2"),
        ({"neurons": [[1.0]]}, "`neurons` must hold rows"),
        ({"method": None}, "`method` must be one of flow, gd, sgd, got 'None'"),
    ],
)
def test_fields_out_of_bounds_are_refused(changes, words):
    with pytest.raises(InvalidInputError, match=words):
        Experiment("three-points", **changes)


# made by version 0.2 of its `Case`, under numerics version 10; the two files are those of the test below
KEPT = {
    "4c10be16b809e10984bc2e7b94365720": ("three-points", {}),
    "432bd41c9eb74f787ec0f2c7e3f6c41a": ("three-points", {"width": 20, "scale": "1e-400", "seed": 3}),
    "5e027f8a507092b0fa2a19f63f61db88": (
        "orthogonally-separable:n=6,mu=0.5", {"loss": "exponential", "leak": 0.1},
    ),
    "c8b7596ad13cec79f42d45fbaa203cf4": (
        "linear-teacher", {"method": "gd", "iterations": 100, "lr": 0.1, "until": "5"},
    ),
    "98f7d0f6962017a8fbc88d1f750f4bab": ("d.csv", {"loss": "square", "init": "./n.csv", "horizon": 3.5}),
    "e1a29bbc1c02e7af1d3db3cb5c7a65bc": ("d.csv", {"labels": "1,0", "target": "y", "bias": True}),
    "f5770886d52124690fa1b6b55e9c72d9": (
        "three-points",
        {"width": "inf", "rtol": 1e-9, "ridge": "stay", "reduction": "sum", "factor": 2.0, "standardise": True},
    ),
}  # fmt: skip


@pytest.mark.parametrize("fingerprint", KEPT)
def test_results_kept_by_version_0_2_are_found(fingerprint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(numerics_version, "NUMERICS_VERSION", 10)
    (tmp_path / "d.csv").write_text("x1,y\n1,1\n-2,0\n")
    (tmp_path / "n.csv").write_text("w1,a\n1,1\n")
    data, changes = KEPT[fingerprint]
    assert Experiment(data, **changes).pinned().fingerprint() == fingerprint


def test_fields_added_later_count():
    base = Experiment("three-points")
    changes = {"weight_decay": 0.1, "frozen_output": True, "nodes": 10, "device": "gpu", "times": (1.0,)}
    names = {Experiment("three-points", **{name: value}).fingerprint() for name, value in changes.items()}
    assert len({base.fingerprint(), *names}) == len(changes) + 1


def test_a_theorems_setting_is_the_experiment_of_its_example():
    for key in ("boursier2024:thm1", "min2024:thm1", "lyu2021:thm4.3", "lee2022:thm4.1"):
        theorem = theorem_named(key)
        ours, theirs = experiment_for(theorem).problem(), example_problem(theorem)
        assert ours.loss == theirs.loss
        np.testing.assert_array_equal(ours.network.w, theirs.network.w)
        assert ours.network.leak == theirs.network.leak
        assert ours.network.log_scale == theirs.network.log_scale


def test_the_python_lines_run(capsys):
    experiment = Experiment("three-points", width=5, until=3, times=(1.0, 2.0), weight_decay=0.1)
    names = {}
    exec(experiment.python_lines(), names)
    assert [snapshot.time for snapshot in names["trajectory"].snapshots] == [1.0, 2.0]
    assert names["trajectory"].problem.weight_decay == 0.1
    assert "Trajectory(" in capsys.readouterr().out


def test_a_sweep_takes_weight_decay_the_frozen_output_and_every_network_file(tmp_path):
    """Its case said that its fields were train's, and lacked the first two; of files it took only `.csv`."""
    network = reluflow.balanced_initialization(
        reluflow.load("three-points"), width=3, scale=0.1, rng=np.random.default_rng(0)
    )
    files = [str(write_network(network, tmp_path / f"net{suffix}")) for suffix in (".csv", ".npz", ".safetensors")]
    base = Experiment("three-points", until=2)
    over = {"init": files, "weight_decay": [0, 0.1], "frozen_output": [False, True]}
    frame = sweep(base, over=over, measure=["loss"], executor="serial").frame()
    assert frame["status"].tolist() == ["done"] * 12
    losses = frame["loss"].to_numpy().reshape(3, 4)
    np.testing.assert_allclose(losses[1:], losses[:1].repeat(2, axis=0), rtol=1e-12)
    assert len(set(losses[0])) == 4
    problem = Experiment("three-points", init=files[1], weight_decay=0.1, frozen_output=True).problem()
    assert isinstance(problem.network, Network)
    assert not problem.trains_output_layer


def test_the_old_name_of_the_changed_fields_warns():
    experiment = Experiment("three-points", width=20)
    with pytest.warns(DeprecationWarning, match=r"`Experiment.given\(\)` is now `Experiment.changed_fields\(\)`"):
        assert experiment.given() == experiment.changed_fields() == {"data": "three-points", "width": 20}
