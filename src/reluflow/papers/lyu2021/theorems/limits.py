"""The two ends many results of Lyu et al. compare: the certified limit of the run and the best margin of any width."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reluflow.certificates.hard_margin import HardMargin
from reluflow.certificates.kkt import kkt_certificate, normalized_margin
from reluflow.certificates.limits.certified_limit import CertifiedLimit, certified_limit
from reluflow.certificates.limits.directions import unit_norm
from reluflow.certificates.network_margin import NetworkMargin, network_margin
from reluflow.certificates.pattern_margin import max_margin_in_patterns
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.network import Network
from reluflow.theory.comparison import Comparison, certified, require
from reluflow.theory.evidence import Evidence, computed_once


@computed_once
def limit_of(evidence: Evidence) -> CertifiedLimit:
    """The certified limit of the run."""
    return certified_limit(evidence.run)


def proved_limit(evidence: Evidence) -> CertifiedLimit:
    """The same where it is proved; elsewhere what asks for it is undecided."""
    limit = limit_of(evidence)
    require(limit.is_proof, f"the limit was not identified: {limit.reason}")
    return limit


@dataclass(frozen=True)
class OfTheLimit:
    """A measure of the run's limit: where the certificate proves it that decides, elsewhere nothing does."""

    measure: Callable[[Evidence], Comparison]

    def __call__(self, evidence: Evidence) -> Comparison:
        proved_limit(evidence)
        return certified(self.measure(evidence))


@computed_once
def best_network(evidence: Evidence) -> NetworkMargin:
    """The best margin any width reaches on the evidence's samples, between its two bounds."""
    return network_margin(evidence.dataset, evidence.leak)


def best_margin_found(evidence: Evidence) -> float:
    """The largest margin of any network, as found."""
    return best_network(evidence).margin


@dataclass(frozen=True, eq=False)
class KKTDirections:
    """Networks of unit norm that are constructed as KKT directions, or found to be."""

    networks: tuple[Network, ...]


def kkt_residuals(evidence: Evidence, networks: Iterable[Network], *, rtol: float | None = None) -> list[float]:
    """KKT residual of each network on the evidence's samples; `rtol` for both tolerances of `kkt_certificate`."""
    if rtol is None:
        return [kkt_certificate(network, evidence.dataset).residual for network in networks]
    certificates = (kkt_certificate(t, evidence.dataset, active_rtol=rtol, kink_rtol=rtol) for t in networks)
    return [certificate.residual for certificate in certificates]


def good_draw_probability(evidence: Evidence) -> float:
    """1 - 2^-(m-1): the chance that a draw has neurons of both signs."""
    return 1.0 - 2.0 ** -(evidence.network.num_neurons - 1)


def limit_margin(evidence: Evidence) -> float:
    """Margin of the limit of the run."""
    return normalized_margin(limit_of(evidence).network, evidence.dataset)


def separator_of(evidence: Evidence) -> HardMargin:
    """w* and gamma*, refused where the dataset is too large for them."""
    found = evidence.facts.separator
    if found is None:
        raise InvalidInputError(
            f"`dataset` must have a max-margin separator within reach, got n d = {evidence.dataset.X.size}; "
            "take fewer samples."
        )
    return found


def settled_direction(network: Network, dataset: Dataset) -> Network | None:
    """The KKT direction of unit norm that a start leads to, the best in its patterns giving new patterns, or None."""
    for _ in range(4):
        network = unit_norm(max_margin_in_patterns(network, dataset))
        if kkt_certificate(network, dataset).residual <= 1e-8:
            return network
    return None
