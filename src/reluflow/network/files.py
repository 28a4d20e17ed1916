"""Networks as files: `.csv` with header `w1,...,wd,a`, `.npz`, `.safetensors`, a PyTorch checkpoint's state dict."""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.atomic import replacing
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network
from reluflow.network.two_layers import two_layers_of

TORCH = (".pt", ".pth", ".ckpt", ".bin")
READ = (".csv", ".npz", ".safetensors", *TORCH)
WRITTEN = (".csv", ".npz", ".safetensors")


def read_network(path: str | Path, *, leak: float | None = None) -> Network:
    """Read a network.

    Parameters
    ----------
    path
        `.csv` with header `w1,...,wd,a` or `w1,...,wd,v1,...,vK`, perhaps `weight` and the output bias `b1,...,bK`, the
        same in every row; `.npz` with `w`, `a` or `v` (num_neurons, K), and perhaps `b` (K,), `weight`, `leak`,
        `log_scale`; `.safetensors` or a PyTorch checkpoint with two dense layers, or with these names.
    leak
        Negative slope of the activation; by default the one the file carries, else 0.

    Returns
    -------
    Network
        The network of the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "net.csv").write_text("w1,w2,a\\n0.1,0.8,0.8\\n")
    ...     read_network(Path(folder, "net.csv")).num_neurons
    1
    """
    source = Path(path)
    suffix = source.suffix.lower()
    try:
        if suffix == ".npz":
            return _read_npz(source, leak)
        if suffix == ".safetensors" or suffix in TORCH:
            return _read_checkpoint(source, leak)
    except OSError as error:
        raise InvalidInputError(f"`{path}` cannot be read as a network: {error.strerror or error}.") from error
    if suffix not in ("", ".csv", ".txt"):
        raise InvalidInputError(f"`{path}` must end in {', '.join(READ)}, got {source.suffix!r}.")
    return _read_csv(source, 0.0 if leak is None else leak)


def write_network(network: Network, path: str | Path) -> Path:
    """Write a network to `.csv`, `.npz` or `.safetensors`, so that `read_network` gives the same numbers.

    `.npz` keeps the scale apart and holds any; the others hold the neurons themselves, scale included. `.csv` does not
    carry the leak.

    Parameters
    ----------
    network
        Any network.
    path
        Where to write, by its suffix.

    Returns
    -------
    Path
        Where it was written.

    Examples
    --------
    >>> import tempfile
    >>> network = Network([[0.1, 0.8]], [0.8], leak=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_network(write_network(network, Path(folder, "net.npz"))).leak
    0.5
    """
    target = Path(path)
    check_writable(target)
    try:
        if target.suffix.lower() == ".npz":
            with replacing(target) as handle:
                held: dict[str, Any] = {**_named_arrays(network), "leak": network.leak, "log_scale": network.log_scale}
                np.savez(handle, **held)
            return target
        real = network.materialized() if network.log_scale else network
        if target.suffix.lower() == ".safetensors":
            from reluflow.network.safetensors_file import write_safetensors

            write_safetensors(target, _named_arrays(real), {"leak": repr(real.leak)})
            return target
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        bias = () if real.b is None else real.b
        outputs = ["a"] if real.num_outputs == 1 else _numbered("v", real.num_outputs)
        writer.writerow([*_numbered("w", real.d), *outputs, "weight", *_numbered("b", len(bias))])
        for w, v, weight in zip(real.w, real.v, real.weight, strict=True):
            writer.writerow([f"{value:.17g}" for value in (*w, *v, weight, *bias)])
        with replacing(target) as handle:
            handle.write(text.getvalue().encode())
    except OSError as error:
        raise InvalidInputError(f"`{path}` could not be written: {error.strerror or error}.") from error
    return target


def _named_arrays(network: Network) -> dict[str, FloatArray]:
    """The arrays of a network under the names that files have for them."""
    outputs = {"a": network.a} if network.num_outputs == 1 else {"v": network.v}
    bias = {} if network.b is None else {"b": network.b}
    return {"w": network.w} | outputs | {"weight": network.weight} | bias


def _numbered(letter: str, count: int) -> list[str]:
    return [f"{letter}{place}" for place in range(1, count + 1)]


def check_writable(path: str | Path) -> None:
    """Refuse a place where a network cannot be written, before any work is done for it."""
    target = Path(path)
    if target.suffix.lower() not in WRITTEN:
        raise InvalidInputError(f"`{path}` must end in {', '.join(WRITTEN)} to hold a network, got {target.suffix!r}.")
    if target.is_dir():
        raise InvalidInputError(f"`{path}` must be a file to write to, got a folder.")
    if not target.resolve().parent.is_dir():
        raise InvalidInputError(f"`{path}` must lie in a folder that exists.")


def is_network_file(text: str) -> bool:
    """Whether the word after `--init` names a file and not a scheme.

    >>> is_network_file("balanced"), is_network_file("net.pt"), is_network_file("./net")
    (False, True, True)
    """
    return "/" in text or Path(text).suffix.lower() in READ


def _read_npz(path: Path, leak: float | None) -> Network:
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise InvalidInputError(f"`{path}` must be an .npz archive with `w` and `a`, got a single array.")
        with archive:
            held = {name: archive[name] for name in archive.files}
    except InvalidInputError:
        raise
    # zipfile says NotImplementedError of a compression it does not know
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise InvalidInputError(f"`{path}` must be a whole .npz archive with `w` and `a`: {error}.") from error
    if not _is_own(held):
        return two_layers_of(held, str(path)).network(leak=0.0 if leak is None else leak)
    return _own(held, path, leak)


def _is_own(held: Mapping[str, Any]) -> bool:
    return "w" in held and ("a" in held or "v" in held)


def _own(held: dict[str, Any], path: Path, leak: float | None) -> Network:
    """A network written by `write_network`, or by hand with the same names."""
    try:
        carried = float(held["leak"]) if "leak" in held else None
        log_scale = float(held.get("log_scale", np.array(0.0)))
        found = {
            name: np.asarray(held[name], dtype=np.float64) for name in ("w", "a", "v", "b", "weight") if name in held
        }
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"`{path}` must hold numbers in `w` and `a` or `v`: {error}.") from error
    if "a" in found and "v" in found:
        raise InvalidInputError(f"`{path}` must hold output weights as `a` (one output) or `v`, got both.")
    if "a" in found and (found["a"].ndim == 1 or 1 in found["a"].shape):
        found["a"] = found["a"].ravel()
    if "v" in found and found["v"].ndim == 1:
        found["v"] = found["v"][:, None]
    return Network(**found, leak=_agreed_leak(path, leak, carried), log_scale=log_scale)


def _read_checkpoint(path: Path, leak: float | None) -> Network:
    words: dict[str, str] = {}
    if path.suffix.lower() == ".safetensors":
        from reluflow.network.safetensors_file import read_safetensors

        arrays, words = read_safetensors(path)
    else:
        from reluflow.network.torch_file import read_torch_arrays

        arrays = read_torch_arrays(path)
    try:
        carried = float(words["leak"]) if "leak" in words else None
    except ValueError:
        raise InvalidInputError(f"`{path}` must carry a number as its leak, got {words['leak']!r}.") from None
    if _is_own(arrays):
        return _own(arrays | ({} if carried is None else {"leak": np.array(carried)}), path, leak)
    return two_layers_of(arrays, str(path)).network(leak=_agreed_leak(path, leak, carried))


def _agreed_leak(path: Path, asked: float | None, carried: float | None) -> float:
    if asked is not None and carried is not None and asked != carried:
        raise InvalidInputError(
            f"`{path}` holds a network of leak {carried:g}, got leak {asked:g}; pass --leak {carried:g}."
        )
    return asked if asked is not None else carried if carried is not None else 0.0


def _read_csv(path: Path, leak: float) -> Network:
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = [row for row in csv.reader(stream) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"`{path}` cannot be read as a CSV of neurons: {error}.") from error
    if not rows:
        raise InvalidInputError(f"`{path}` is empty; a file of neurons has the header w1,...,wd,a.")
    header = [cell.strip() for cell in rows[0]]
    d, num_bias = (sum(bool(re.fullmatch(rf"{letter}\d+", name)) for name in header) for letter in "wb")
    num_outputs = 1 if "a" in header else sum(bool(re.fullmatch(r"v\d+", name)) for name in header)
    outputs = ["a"] if "a" in header else _numbered("v", num_outputs)
    has_weight = "weight" in header
    expected = [*_numbered("w", d), *outputs, *(["weight"] if has_weight else []), *_numbered("b", num_bias)]
    if d < 1 or header != expected or num_outputs < 1 or num_bias not in (0, num_outputs):
        raise InvalidInputError(
            f"`{path}` must have the header w1,...,wd,a or w1,...,wd,v1,...,vK with an optional weight and an optional "
            f"output bias b1,...,bK, got {','.join(header)}."
        )
    if len(rows) == 1:
        raise InvalidInputError(f"`{path}` holds a header and no neuron.")
    values = np.empty((len(rows) - 1, len(header)))
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise InvalidInputError(f"`{path}` line {number} has {len(row)} cells where the header has {len(header)}.")
        try:
            values[number - 2] = [float(cell) for cell in row]
        except ValueError as error:
            raise InvalidInputError(f"`{path}` line {number} must hold numbers: {error}.") from error
    w, v, rest = np.split(values, [d, d + num_outputs], axis=1)
    bias = rest[:, rest.shape[1] - num_bias :]
    if np.any(bias != bias[0]):
        raise InvalidInputError(f"`{path}` must hold the same output bias b1,...,bK in every row, got several.")
    return Network(w, v=v, b=bias[0] if num_bias else None, leak=leak, weight=rest[:, 0] if has_weight else None)
