"""Errata of Phuong & Lampert (2021), ICLR version [phuong2021]."""

from __future__ import annotations

import numpy as np

from reluflow.theory.erratum import errata_maker
from reluflow.theory.measurement import Measurement, at_most


def _growth(factor: float) -> Measurement:
    """a^2/a(0)^2 of a light neuron on one sample with nBV = 1 at t = 3, cosh^2 t, against exp(factor t)."""
    grown, bound = float(np.cosh(3.0) ** 2), float(np.exp(3.0 * factor))
    return at_most(grown, bound, detail=f"cosh^2 3 = {grown:.4g} against exp({factor:g} t) = {bound:.4g} at t = 3")


def _ascent(w: tuple[float, float], along: tuple[float, float]) -> Measurement:
    """The change of G(w) = max(w_1, 0) - max(w_2, 0) on the circle when w moves along a direction: must not fall."""
    start, step = np.array(w), 1e-3 * np.array(along)
    moved = (start + step) / np.linalg.norm(start + step)
    gain = float(np.maximum(moved, 0.0) @ [1.0, -1.0] - np.maximum(start, 0.0) @ [1.0, -1.0])
    return at_most(-gain, 0.0, detail=f"G changes by {gain:.3g} along ({along[0]:g}, {along[1]:g})")


_erratum = errata_maker("phuong2021")

ERRATA = (
    _erratum(
        "P1",
        "Lemma A.4, Eq. (58)",
        "a^2 grows at most like exp(nBVt)",
        "exp(2nBVt)",
        lambda: _growth(1.0),
        lambda: _growth(2.0),
    ),
    _erratum("P2", "Eq. (80)", "y_i <w_-, x_i> > 0 for y_i = -1", "<w_-, x_i> > 0"),
    _erratum(
        "P3",
        "Lemma 2, proof",
        "moving along a positive sample raises G",
        "only where G > 0; where G < 0 move against the sum of the active negative samples. The statement stands",
        lambda: _ascent((-0.6, 0.8), (1.0, 0.0)),
        lambda: _ascent((-0.6, 0.8), (0.0, -1.0)),
    ),
    _erratum("P4", "Lemma 2, proof", "some maximum is strict or G is constant", "the maximum is explicit and strict"),
    _erratum("P5", "Eqs. (13), (14)", "case 0", "empty under the span assumption"),
    _erratum(
        "P6",
        "Sec. 2",
        "orthogonally separable means opposite orthants",
        "sufficient, not necessary, for d >= 3",
    ),
    _erratum("P7", "Thm 1", "probability 1 - 2^-p", "at least; u and z are normalised as in P16"),
    _erratum("P8", "Sec. 2", "any loss of the kind described", "the lemmas; Theorem 1 needs an exponential tail"),
    _erratum("P9", "Lemma A.2, proof", "Eq. (47)", "Eq. (39)"),
    _erratum("P10", "Lemma A.1, proof", "sigma-hat in S", "w-hat in S"),
    _erratum("P11", "Eq. (90)", "L_theta, indices mixed", "the activation diagonal I_theta(x_i)"),
    _erratum("P12", "Def. 1", "a region in input space", "in weight space"),
    _erratum("P13", "Fig. 1", "the setting of the theorem", "the span assumption fails and the start is not balanced"),
    _erratum("P14", "Sec. 5.1", "all but two singular values are zero", "the third is the initial noise"),
    _erratum("P15", "Sec. 3.1", "small lambda is crucial", "for finite times; for the limit it seems not to be"),
    _erratum("P16", "Eqs. (10), (70)", "constants u and z", "1/(2(|w_+| + |w_-|)) each"),
)
