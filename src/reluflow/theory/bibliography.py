"""The papers, once: how they are cited, titled and numbered; their keys are those of references.bib."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """One paper: its key, its authors as they are cited, its year, its title, and what it is about in a few words."""

    key: str
    authors: str
    year: int
    title: str
    subject: str

    @property
    def cited(self) -> str:
        """Authors, year and subject, as the generated pages head their sections."""
        return f"{self.authors} ({self.year}), {self.subject}"

    @property
    def titled(self) -> str:
        """Authors and title."""
        return f"{self.authors}, {self.title}"


BIBLIOGRAPHY: dict[str, Paper] = {
    paper.key: paper
    for paper in (
        Paper(
            "boursier2024",
            "Boursier & Flammarion",
            2024,
            "Early alignment in two-layer networks training is a two-edged sword",
            "early alignment is a two-edged sword",
        ),
        Paper(
            "min2024",
            "Min, Mallada & Vidal",
            2024,
            "Early Neuron Alignment in Two-layer ReLU Networks with Small Initialization",
            "early neuron alignment",
        ),
        Paper(
            "lyu2021",
            "Lyu, Li, Wang & Arora",
            2021,
            "Gradient Descent on Two-layer Nets: Margin Maximization and Simplicity Bias",
            "margin maximisation and simplicity bias",
        ),
        Paper(
            "lee2022",
            "Lee, Sim & Ye",
            2022,
            "Magnitude and Angle Dynamics in Training Single ReLU Neurons",
            "magnitude and angle of a single neuron",
        ),
        Paper(
            "phuong2021",
            "Phuong & Lampert",
            2021,
            "The inductive bias of ReLU networks on orthogonally separable data",
            "orthogonally separable data",
        ),
        Paper(
            "chistikov2023",
            "Chistikov, Englert & Lazic",
            2023,
            "Learning a Neuron by a Shallow ReLU Network: Dynamics and Implicit Bias for Correlated Inputs",
            "one neuron learnt from correlated inputs",
        ),
    )
}
