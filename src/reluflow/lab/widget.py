"""The viewer in a notebook: one run, its plane, its function, its slider, without a server."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from reluflow.errors import ReluflowError
from reluflow.lab.wire import pack

if TYPE_CHECKING:
    from reluflow.dynamics.trajectory import Trajectory

# in the order in which each needs the ones before it; joined into one module, since a notebook serves no folder
_MODULES = (
    "dom.js", "wire.js", "surface.js", "planes.js", "planar.js", "run.js", "plane.js", "sphere.js", "function_plot.js",
    "tracks.js", "later.js", "viewer.js",
)  # fmt: skip
_IMPORT = re.compile(r"^import [^;]*;\n", flags=re.M)
_RENDER = """
export default { render({ model, el }) {
  el.classList.add("reluflow-viewer");
  const root = element("section", { id: "viewer" });
  el.append(root);
  const frames = ["data", "run"].map((name) => decodeFrame(model.get(name).buffer.slice(
    model.get(name).byteOffset, model.get(name).byteOffset + model.get(name).byteLength)));
  const { arrays } = frames[0];
  const data = { X: rowsOf(arrays.X), y: Array.from(arrays.y.data), w: rowsOf(arrays.w), a: Array.from(arrays.a.data),
    logScale: frames[0].log_scale };
  const isPlanar = data.X[0].length === 2;
  const geometry = isPlanar ? planarGeometry(data.X, Array.from(arrays.forces.data), frames[1].leak) : null;
  const view = { at: 1, axis: "log", loss: "log", plane: "auto", neuron: null };
  const selection = { sample: null, neuron: null };
  const run = new Run(frames[1]);
  const show = () => viewer.show({ data, geometry, extremal: geometry ? geometry.extremal : [], run, ghost: null, view,
    selection, leak: frames[1].leak });
  const viewer = new Viewer(root, { onAxis: (axis) => {
    view.at = run.placeOfPosition(viewer.position, axis);
    view.axis = axis;
    show();
  }, onLossAxis: (loss) => {
    view.loss = loss;
    show();
  } });
  viewer.planeCanvas.addEventListener("click", (event) => {
    const found = viewer.plane.pick(event.offsetX, event.offsetY, viewer.displayed());
    Object.assign(selection, { sample: null, neuron: null }, found || {});
    show();
  });
  show();
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


def frames_of(trajectory: Trajectory) -> tuple[bytes, bytes]:
    """The two frames of a run that the viewer needs: its data, and its states."""
    from reluflow.dynamics.trajectory import Law
    from reluflow.lab import adapter
    from reluflow.lab.answers import start_arrays
    from reluflow.lab.frames import FrameKeeper
    from reluflow.lab.run_answer import run_answer

    problem = trajectory.problem
    network = problem.network
    keeper = FrameKeeper(network, problem.initial_loss)
    states = trajectory.snapshots or trajectory.frames
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
    folder = files("reluflow.lab") / "page"
    parts = [_IMPORT.sub("", (folder / name).read_text(encoding="utf-8")) for name in _MODULES]
    return "\n".join(re.sub(r"^export ", "", part, flags=re.M) for part in parts) + _RENDER


def browser_style() -> str:
    """The page's style, kept to the widget."""
    style = (files("reluflow.lab") / "page" / "style.css").read_text(encoding="utf-8")
    rules = style.replace(":root", ".reluflow-viewer").replace("body {", ".reluflow-viewer {")
    return rules + "\n.reluflow-viewer #viewer { height: 560px; }\n"
