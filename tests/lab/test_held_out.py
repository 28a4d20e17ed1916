"""Samples that are held out, and noise."""

import numpy as np
import pytest

import reluflow
from lab.driving import until

NUMBERS = "v=1&name=own&X=1,1;0.4,1;-0.3,1;-1,1;0.1,1;0.7,1&y=1.1,0.2,0.5,0.8,-0.1,0.6&width=30&scale=1e-2"
CLASSES = (
    "v=1&name=own&X=1,0.2;0.9,-0.4;-1,0.3;-0.7,0.8;0.2,0.9;-0.2,-1&y=1,1,1,-1,-1,-1&loss=logistic&width=20&scale=1e-2"
)
THREE = "v=1&name=own&X=1,0.2;0.9,-0.3;-1,0.3;-0.7,0.8;0,-1;0.2,-0.9&y=0,0,1,1,2,2&loss=softmax&scale=1e-2&width=6"


def loss_of(kind: str, h: np.ndarray, y: np.ndarray) -> float:
    """The mean loss of outputs, written out."""
    if kind == "square":
        return float(np.mean((h - y) ** 2 / 2))
    if kind == "logistic":
        return float(np.mean(np.log1p(np.exp(-y * h))))
    labels = y.astype(int)
    return float(np.mean(np.log(np.exp(h).sum(axis=1)) - h[np.arange(len(h)), labels]))


@pytest.mark.parametrize(
    ("link", "kind", "place"), [(NUMBERS, "square", 0.4), (CLASSES, "logistic", 0.4), (THREE, "softmax", 0.1)]
)
def test_the_loss_on_held_out_samples_is_that_of_the_network(open_page, link, kind, place):
    page = open_page(link)
    page.click("#held-and-noise > summary")
    page.click("#hold-out")
    page.evaluate("reluflow.settled()")
    state = page.evaluate("reluflow.state()")
    assert (len(state["run"]["X"]), len(state["held"]["y"])) == (4, 2)
    words = page.evaluate(f"reluflow.held({place})")
    assert f"held out {words['shown']}" in page.inner_text(".readout")
    experiment = reluflow.Experiment.from_link(page.evaluate("location.href"))
    X, y = np.array(state["held"]["X"]), np.array(state["held"]["y"])
    flow = reluflow.train(
        experiment.problem(), reluflow.choose_flow(experiment.problem(), rtol=1e-8).solver, until=words["t"]
    )
    outputs = np.asarray(flow.network.outputs(X))
    assert words["loss"] == pytest.approx(loss_of(kind, outputs, y), rel=2e-2)


def test_what_is_held_out_is_in_the_link_and_is_given_back(open_page):
    page = open_page(CLASSES)
    page.click("#held-and-noise > summary")
    page.click("#hold-out")
    page.evaluate("reluflow.settled()")
    state = page.evaluate("reluflow.state()")
    page.reload()
    page.wait_for_selector("#data")
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.state().held") == state["held"]
    page.click("#held-and-noise > summary")
    page.click("#train-on-all")
    page.evaluate("reluflow.settled()")
    state = page.evaluate("reluflow.state()")
    assert (len(state["run"]["X"]), state["held"]) == (6, None)
    page.click("#undo")
    page.evaluate("reluflow.settled()")
    assert len(page.evaluate("reluflow.state().held.y")) == 2


def test_of_each_class_one_sample_stays(open_page):
    page = open_page("v=1&name=own&X=1,0.2;-1,0.3;-0.7,0.8&y=1,-1,-1&loss=logistic&width=5")
    page.evaluate("reluflow.select({ sample: 0 })")
    page.get_by_role("button", name="Hold out", exact=True).click()
    until(page, "document.getElementById('status').innerText.includes('One sample of each class must stay')")
    assert page.evaluate("reluflow.state().held") is None


def test_held_out_samples_of_a_link_are_checked(open_page):
    page = open_page(CLASSES + "&held.X=1,2,3&held.y=1")
    assert "as many coordinates" in page.inner_text("#status")


@pytest.mark.parametrize(("link", "moved"), [(NUMBERS, "y"), (CLASSES, "X")])
def test_noise_moves_labels_that_are_numbers_and_samples_of_classes(open_page, link, moved):
    page = open_page(link)
    before = page.evaluate("reluflow.data()")
    page.click("#held-and-noise > summary")
    page.fill("#noise", "10")
    page.click("#add-noise")
    page.evaluate("reluflow.settled()")
    after = page.evaluate("reluflow.data()")
    other = "X" if moved == "y" else "y"
    assert after[other] == before[other]
    change = np.array(after[moved]) - np.array(before[moved])
    assert 0 < np.sqrt(np.mean(change**2)) < 0.5
