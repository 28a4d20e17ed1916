"""Neurons and problems drawn at random, for the tests of the alignment phase."""

import numpy as np

INITIALISATIONS = ("balanced", "dominated", "unbalanced")


def random_neurons(rng, num_neurons, d, kind):
    w = rng.normal(size=(num_neurons, d))
    length = np.linalg.norm(w, axis=1)
    factor = {
        "balanced": 1.0,
        "dominated": rng.uniform(1.01, 3.0, num_neurons),
        "unbalanced": rng.uniform(0, 1, num_neurons),
    }
    return w, factor[kind] * length * rng.choice([-1.0, 1.0], num_neurons)


def random_problem(rng, d, n):
    return rng.normal(size=(n, d)) * rng.uniform(0.5, 2.0, (n, 1)), rng.normal(size=n) / n
