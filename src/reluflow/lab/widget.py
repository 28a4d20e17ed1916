"""The viewer in a notebook: one run, its plane, its function, its slider, without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reluflow.errors import ReluflowError
from reluflow.lab.joined import joined, page_text
from reluflow.lab.wire import pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reluflow.dynamics.trajectory import Snapshot, Trajectory

_RENDER = """
export default { render({ model, el }) {
  el.classList.add("reluflow-viewer");
  const root = document.createElement("section");
  root.id = "viewer";
  el.append(root);
  modules["saved.js"].showRun(root, ["data", "run"].map((name) => {
    const { buffer, byteOffset, byteLength } = model.get(name);
    return buffer.slice(byteOffset, byteOffset + byteLength);
  }));
} };
"""


def lab_widget(trajectory: Trajectory) -> Any:
    """Show a run in a notebook: plane, function, loss, sizes and angles over one slider; needs the extra `widget`.

    Parameters
    ----------
    trajectory
        A finished run. Its snapshots are shown, or its frames; a flow that kept neither is followed once more from
        its start, by the solver that suits its size, for states on the way.

    Returns
    -------
    anywidget.AnyWidget
        A widget; Jupyter, VS Code and Colab display it.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("three-points")
    >>> network = reluflow.balanced_initialization(data, width=10, scale=1e-3, rng=np.random.default_rng(0))
    >>> problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    >>> trajectory = reluflow.train(problem, reluflow.EventDrivenFlow(), times=np.linspace(0, 20, 50))
    >>> type(lab_widget(trajectory)).__name__
    'RunWidget'
    """
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        words = "The notebook view needs anywidget, which is not installed: pip install 'reluflow[widget]'."
        raise ReluflowError(words) from error

    class RunWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
        _esm = browser_module()
        _css = browser_style()
        data = traitlets.Bytes().tag(sync=True)
        run = traitlets.Bytes().tag(sync=True)

    data, run = frames_of(trajectory)
    return RunWidget(data=data, run=run)


def frames_of(trajectory: Trajectory, states: Sequence[Snapshot] = ()) -> tuple[bytes, bytes]:
    """The two frames of a run that the viewer needs: its data, and its states, those given or its own."""
    from reluflow.dynamics.trajectory import Law
    from reluflow.lab import adapter
    from reluflow.lab.answers import start_arrays
    from reluflow.lab.frames import FrameKeeper
    from reluflow.lab.run_answer import run_answer

    problem = trajectory.problem
    network = problem.network
    keeper = FrameKeeper(network, problem.initial_loss)
    states = states or trajectory.snapshots or trajectory.frames
    if not states and trajectory.law is Law.FLOW:
        states = adapter.states_on_the_way(trajectory)
    keeper.insert([one for one in states if one.time > 0])
    keeper.finish(trajectory)
    frames = keeper.shown()
    data = {
        "X": problem.dataset.X,
        "y": problem.dataset.y,
        "w": network.w,
        **start_arrays(problem),
    }
    classes = problem.dataset.classes
    header = {"what": "data", "log_scale": network.log_scale, "classes": None if classes is None else list(classes)}
    return pack(header, {name: np.asarray(array) for name, array in data.items()}), pack(
        *run_answer(trajectory, frames, {"what": "run"})
    )


def browser_module() -> str:
    """The viewer's modules joined into one."""
    return joined("saved.js") + _RENDER


def browser_style() -> str:
    """The page's style, kept to the widget."""
    rules = page_text("style.css").replace(":root", ".reluflow-viewer").replace("body {", ".reluflow-viewer {")
    return rules + "\n.reluflow-viewer #viewer { height: 620px; }\n"
