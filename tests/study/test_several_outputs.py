"""Studies of several classes, of rows of numbers and of networks with an output bias."""

import base64
import re

import numpy as np
import pytest

from reluflow import Dataset, Network, study
from reluflow.data.classified import wrongly_classified
from reluflow.lab.wire import unpack
from reluflow.study.export import as_json
from reluflow.study.neuron_groups import neuron_groups
from reluflow.study.pictures import draw_study
from reluflow.study.report import write_report
from reluflow.viz.class_regions import confusion_counts

RAYS = np.array([[0.0, 1.0], [0.3, 1.1], [0.9, -0.5], [1.0, -0.7], [-0.9, -0.5], [-1.0, -0.3]])
CLASSES = Dataset(RAYS, [0, 0, 1, 1, 2, 2], classes=("north", "east", "west"), name="rays")
FEW = {"width": 6, "scale": "1e-2", "max_steps": 250, "seeds": 0, "theorems": ()}


@pytest.fixture(scope="module")
def of_classes():
    return study(CLASSES, **FEW)


@pytest.fixture(scope="module")
def of_rows():
    return study(Dataset(RAYS[:4], [[1.0, 0.0], [0.5, 0.2], [0.0, 1.0], [-0.5, 0.5]]), **FEW, output_bias="train")


def test_a_study_of_classes_says_how_many_are_right(of_classes):
    outputs = of_classes.flow.trajectory.predictions
    assert outputs.shape == (6, 3)
    assert not wrongly_classified(CLASSES, outputs).any()
    assert "classifies all 6 samples correctly" in of_classes.verdict()[0]
    summary = " ".join(of_classes.sentences())
    assert "3 classes (2 north, 2 east, 2 west)" in summary
    assert "`--labels CLASS` studies one class against the rest" in summary
    assert of_classes.extremal is None
    assert of_classes.diagnosis["orthogonally-separable"].holds is not None


def test_no_margin_of_one_output_is_told_of_several(of_classes):
    words = " ".join(of_classes.verdict())
    if "margin" in words:
        assert "is open for 3 outputs" in words
    assert "not computed at this size" not in words


def test_the_report_shows_classes_in_every_part(of_classes, tmp_path):
    pictures = draw_study(of_classes, tmp_path)
    assert {"dataset", "conditions", "neurons", "loss", "norms", "confusion", "function"} == {p.name for p in pictures}
    page = write_report(of_classes, pictures, tmp_path / "report.html", command="reluflow study rays").read_text()
    assert "Classes and largest outputs" in page
    assert "pushes the outputs along" in page
    data = re.search(r"id=&quot;data&quot;>([^<]*)<", page)[1]
    assert unpack(base64.b64decode(data))[0]["classes"] == ["north", "east", "west"], (
        "the run that plays names them too"
    )
    found = as_json(of_classes)
    assert found["classes"] == ["north", "east", "west"]
    assert np.shape(found["flow"]["predictions"]) == (6, 3)


def test_a_study_of_rows_with_a_bias(of_rows, tmp_path):
    """`--output-bias` was read by `reluflow study` and not passed on: the network was studied without its bias."""
    assert of_rows.flow.trajectory.network.b.shape == (2,)
    assert of_rows.output_bias == "train"
    summary = " ".join(of_rows.sentences())
    assert "regression of 2 outputs" in summary
    assert "The network has an output bias, which is trained." in summary
    assert {"dataset", "conditions", "neurons", "loss", "norms"} == {p.name for p in draw_study(of_rows, tmp_path)}


def test_one_output_with_a_bias_leaves_the_theorems_out():
    found = study("three-points", width=5, max_steps=200, seeds=0, output_bias="fixed")
    assert found.flow.trajectory.network.b.tolist() == [0.0]
    assert not found.answers
    assert "`--output-bias none` studies one" in " ".join(found.sentences())


def test_repetitions_keep_the_bias():
    data = Dataset([[1.0, 0.2], [-0.3, 1.0]], [[1.0, 2.0], [0.5, 1.0]])
    found = study(data, width=3, scale="0.5", seeds=2, scales=("0.5",), theorems=(), output_bias="train")
    assert [v.kind for v in found.variations] == ["global-minimum"] * 2


def test_counts_leave_out_shared_largest_outputs():
    outputs = np.array([[1.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0, 0, 1.0], [0, 0, 1.0], [0, 0, 1.0]])
    assert confusion_counts(CLASSES, outputs).tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 2]]
    assert wrongly_classified(CLASSES, outputs).tolist() == [True, False, False, True, False, False]


def test_neurons_of_one_direction_that_push_other_classes_are_two_bundles():
    network = Network(w=[[1.0, 0.0], [1.0, 0.0], [2.0, 0.0]], v=[[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    data = Dataset([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    groups = neuron_groups(network, data)
    assert [(g.size, g.output.tolist()) for g in groups] == [(2, [1.0, 0.0]), (1, [0.0, 1.0])]
