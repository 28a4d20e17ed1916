"""Writing a figure to a file: atomic, and the same bytes for the same figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reluflow.data.atomic import replacing
from reluflow.errors import InvalidInputError
from reluflow.viz.style import figure_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Dates and version numbers would make two files of one figure differ; None leaves an entry out.
_METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure as PNG (150 dots per inch), SVG or PDF, by the suffix of `path`.

    The file appears complete or not at all, and the same figure gives the same bytes.

    Returns
    -------
    Path
        Where it was written.

    Parameters
    ----------
    figure
        A matplotlib figure.
    path
        Where to write.

    Examples
    --------
    >>> import tempfile, reluflow
    >>> from reluflow.viz import plot_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(plot_dataset(reluflow.load("min-toy")), f"{folder}/data.png").name
    'data.png'
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in _METADATA:
        raise InvalidInputError(f"`path` must end in {', '.join(_METADATA)}, got {target.name!r}.")
    try:
        with figure_style(), replacing(target) as handle:
            figure.savefig(handle, format=suffix[1:], dpi=150, metadata=_METADATA[suffix])
    except OSError as error:
        raise InvalidInputError(
            f"`{target}` could not be written: {error.strerror or error}; nothing was changed there."
        ) from error
    return target


def reduced_png(path: Path, *, colours: int, box: tuple[int, int] | None = None) -> bytes:
    """A picture in few colours, which a drawing of lines and text does not notice, and within a box if one is given."""
    from io import BytesIO

    from PIL import Image

    with Image.open(path) as picture:
        reduced = picture.convert("RGB")
    if box is not None:
        reduced.thumbnail(box)
    stream = BytesIO()
    reduced.quantize(colors=colours, dither=Image.Dither.NONE).save(stream, "PNG", optimize=True)
    return stream.getvalue()
