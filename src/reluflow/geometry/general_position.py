"""Is the dataset generic? The deterministic form of Lemma 2 of Boursier & Flammarion (2024)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.geometry.arrangement import TIE, arrangement_faces, check_samples, distinct_directions, num_faces
from reluflow.geometry.cones import DEFAULT_MAX_CONES
from reluflow.geometry.extremal import least_cosine_off_faces
from reluflow.geometry.landscape import check_leak
from reluflow.geometry.subgradient import line_coefficients
from reluflow.losses import AbstractLoss


@dataclass(frozen=True)
class GeneralPosition:
    """Whether a dataset is in general position, with the two numbers that decide it.

    Parameters
    ----------
    holds
        True, False, or None where it could not be decided.
    margin
        The smaller of the two numbers less the tolerance: positive exactly when `holds`; nan when undecided.
    smallest_singular_value
        Over all subsets of at most d samples with unit length; 0 if a sample has no force. None if not computed.
    least_subgradient_cosine
        Least |cos| between a subgradient that meets the closure of its own cone or of the opposite one, and a
        sample that does not vanish on that cone; infinite if no subgradient does. None if not computed.
    detail
        One sentence.
    """

    holds: bool | None
    margin: float
    smallest_singular_value: float | None
    least_subgradient_cosine: float | None
    detail: str


def smallest_subset_singular_value(
    X: FloatArray, *, max_subsets: int = 2_000_000
) -> tuple[float, tuple[int, ...]] | None:
    """Least singular value of a subset of at most d samples scaled to unit length, and the subset; None if too many.

    Leaving a sample out can only raise the least singular value, so the largest subsets are enough.

    Examples
    --------
    >>> smallest_subset_singular_value(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
    (0.0, (0, 2))
    """
    samples = check_samples(X)
    unit = samples / np.linalg.norm(samples, axis=1, keepdims=True)
    n, d = unit.shape
    size = min(n, d)
    if comb(n, size) > max_subsets:
        return None
    best, where = np.inf, tuple(range(size))
    subsets = combinations(range(n), size)
    while chunk := list(islice(subsets, 50_000)):
        values = np.linalg.svd(unit[np.array(chunk)], compute_uv=False)[:, -1]
        least = int(np.argmin(values))
        if values[least] < best:
            best, where = float(values[least]), chunk[least]
    return best, where


def general_position(
    dataset: Dataset,
    loss: AbstractLoss,
    *,
    leak: float = 0.0,
    atol: float = TIE,
    max_subsets: int = 2_000_000,
    max_cones: int = DEFAULT_MAX_CONES,
) -> GeneralPosition:
    """Check that no subgradient lies on the boundary of its cone and that any d samples are independent.

    Parameters
    ----------
    dataset
        n samples in dimension d, none of them zero.
    loss
        Gives the forces at h = 0.
    leak
        Negative slope of the activation, in [0, 1].
    atol
        Singular values and cosines at most this large count as 0.
    max_subsets, max_cones
        Beyond these the matching half of the check is left undecided.

    References
    ----------
    Boursier & Flammarion (2024), Lemma 2 [boursier2024].
    """
    check_leak(leak)
    dataset.refuse_several_outputs("general position")
    loss.check_labels(dataset.y, dataset.classes)
    forces = loss.label_forces(dataset.y)
    idle = np.flatnonzero(forces == 0)
    found = smallest_subset_singular_value(dataset.X, max_subsets=max_subsets)
    if idle.size:
        singular: float | None = 0.0
        reason = f"sample {idle[0] + 1} has no force"
    elif found is None:
        singular = None
        reason = f"there are more than {max_subsets} subsets of {min(dataset.n, dataset.d)} samples"
    else:
        singular = found[0]
        names = ", ".join(str(k + 1) for k in found[1])
        reason = f"the samples closest to dependent are {names}, with least singular value {singular:.3g}"
    cosine = _least_subgradient_cosine(dataset, forces, leak, max_cones)
    if cosine is None:
        second = f"there may be more than {max_cones} cones"
    elif np.isinf(cosine):
        second = "no subgradient meets the closure of its own cone or of the opposite one"
    else:
        second = f"the subgradient closest to the boundary of its cone is at cosine {cosine:.3g} from it"
    known = [value for value in (singular, cosine) if value is not None]
    margin = min(known, default=np.inf) - atol
    holds: bool | None = margin > 0
    if margin > 0 and len(known) < 2:
        holds, margin = None, np.nan
    return GeneralPosition(holds, float(margin), singular, cosine, f"{reason}; {second}")


def _least_subgradient_cosine(dataset: Dataset, forces: FloatArray, leak: float, max_cones: int) -> float | None:
    """The face condition of Lemma 2 as one number, or None beyond `max_cones`."""
    directions = distinct_directions(dataset.X)
    if num_faces(*directions.U.shape) > max_cones:
        return None
    coefficients = line_coefficients(directions, forces, leak)
    if coefficients.scale == 0:
        return float("inf")
    return least_cosine_off_faces(directions, coefficients, arrangement_faces(directions.U).signs)
