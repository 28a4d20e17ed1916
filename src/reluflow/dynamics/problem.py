"""TrainingProblem: a dataset, a loss and the network training starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data import Dataset, as_dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import AbstractLoss, loss_named
from reluflow.network import Network


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    r"""What is trained: minimise $L = c \sum_k \ell(h(x_k), y_k)$ from a given network.

    With weight decay $\lambda$ the objective is $L + (\lambda/2) \sum_j \mathrm{weight}_j (|w_j|^2 + a_j^2)$, whose
    flow is $dw_j/dt = a_j D_j - \lambda w_j$, $da_j/dt = \langle w_j, D_j\rangle - \lambda a_j$. With a frozen output
    layer only the $w_j$ move, and the penalty counts them alone. With $K$ outputs $v_j$ stands for $a_j$ and the
    matrix $D_j (d, K)$ for the vector. An output bias moves by $db/dt = \sum_k f_k$, $f_k$ the force of sample $k$,
    unless it is fixed; no penalty counts it.

    Parameters
    ----------
    dataset
        n samples in dimension d; anything `as_dataset` takes.
    loss
        Loss and reduction, or the name of a loss, as "square"; logistic and exponential want labels -1 and 1, softmax
        classes (`Dataset(..., classes=...)`).
    network
        The network at time 0, with its leak and its scale; as many outputs as `dataset` asks for.
    weight_decay
        lambda, at least 0.
    trains_output_layer
        Whether the output weights move; else they stay as they are.
    trains_output_bias
        Whether the output bias moves, where the network has one; else it stays as it is.

    Examples
    --------
    >>> from reluflow.losses import SquareLoss
    >>> dataset = Dataset([[1.0, 0.0]], [2.0])
    >>> TrainingProblem(dataset, SquareLoss(), Network(w=[[1.0, 1.0]], a=[1.0])).initial_loss
    0.5
    """

    dataset: Dataset
    loss: AbstractLoss
    network: Network
    weight_decay: float = 0.0
    trains_output_layer: bool = True
    trains_output_bias: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.loss, str):
            object.__setattr__(self, "loss", loss_named(self.loss))
        if not isinstance(self.loss, AbstractLoss):
            raise InvalidInputError(
                f"`loss` must be a loss such as SquareLoss() or its name, got {type(self.loss).__name__}."
            )
        if not isinstance(self.dataset, Dataset):
            object.__setattr__(self, "dataset", as_dataset(self.dataset))
        if not isinstance(self.network, Network):
            raise InvalidInputError(
                f"`network` must be a Network, got {type(self.network).__name__}; Network.from_torch and its like read "
                "others'."
            )
        if self.network.d != self.dataset.d:
            raise InvalidInputError(
                f"`network` expects inputs of dimension {self.network.d} but `dataset` has dimension {self.dataset.d}; "
                "`dataset.with_bias()` adds the constant coordinate."
            )
        if not (np.isfinite(self.weight_decay) and self.weight_decay >= 0.0):
            raise InvalidInputError(f"`weight_decay` must be finite and at least 0, got {self.weight_decay}.")
        self.loss.check_labels(self.dataset.y, self.dataset.classes)
        if self.network.num_outputs != self.dataset.num_outputs:
            raise InvalidInputError(_other_outputs(self.network, self.dataset))
        if not np.any(self.dataset.X):
            raise InvalidInputError(
                "`dataset` must hold a sample that is not zero, got none: zero samples move no neuron; "
                "`dataset.with_bias()` adds the constant coordinate."
            )

    @property
    def num_outputs(self) -> int:
        """K, the number of outputs."""
        return self.network.num_outputs

    @property
    def label_forces(self) -> FloatArray:
        """Forces of the samples where all outputs are 0, shape (n,) or (n, K)."""
        return self.loss.label_forces(self.dataset.y, self.num_outputs)

    @property
    def moves_output_bias(self) -> bool:
        """Whether there is an output bias, and it is trained."""
        return self.network.b is not None and self.trains_output_bias

    @property
    def has_single_output(self) -> bool:
        """Whether h(x) is one number without an output bias, as in the papers."""
        return self.num_outputs == 1 and self.network.b is None

    @property
    def moves_freely(self) -> bool:
        """Whether all weights of all neurons move, by the loss alone."""
        return self.weight_decay == 0.0 and self.trains_output_layer

    @property
    def is_plain(self) -> bool:
        """Whether h(x) is one number without a bias and all weights move by the loss alone, as in the papers."""
        return self.moves_freely and self.has_single_output

    @property
    def variant(self) -> str:
        """What is not plain about it, in words; empty where all is.

        >>> network = Network(w=[[1.0]], a=[1.0])
        >>> TrainingProblem(Dataset([[1.0]], [2.0]), "square", network, weight_decay=0.1).variant
        'weight decay 0.1'
        """
        words = [
            *([f"weight decay {self.weight_decay:g}"] if self.weight_decay else []),
            *([] if self.trains_output_layer else ["a frozen output layer"]),
            *([] if self.num_outputs == 1 else [f"{self.num_outputs} outputs"]),
            *(
                []
                if self.network.b is None
                else ["an output bias" if self.trains_output_bias else "a fixed output bias"]
            ),
        ]
        return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 2 else words)

    def penalty(self, network: Network) -> float:
        r"""$(\lambda/2) \sum_j \mathrm{weight}_j |z_j|^2$ over what is trained, $\lambda$ the weight decay."""
        if self.weight_decay == 0.0:
            return 0.0
        squares = np.einsum("jd,jd->j", network.w, network.w)
        squares = squares + network.squared_output_weights() if self.trains_output_layer else squares
        return float(0.5 * self.weight_decay * np.exp(2.0 * network.log_scale) * np.sum(network.weight * squares))

    def objective(self, network: Network) -> float:
        """What the flow lowers: the loss and the penalty of a network."""
        return self.loss.total(network.outputs(self.dataset.X), self.dataset.y) + self.penalty(network)

    def refuse_variant(self, who: str, way_out: str) -> None:
        """Raise where the problem is not plain, for whoever can only do that."""
        self.dataset.refuse_several_outputs(who)
        if not self.is_plain:
            raise InvalidInputError(f"`problem` must be without {self.variant} for {who}; {way_out}")

    def refuse_several_outputs(self, who: str) -> None:
        """Raise where there are several outputs or an output bias, for whoever knows neither."""
        self.dataset.refuse_several_outputs(who)
        if self.network.b is not None:
            raise InvalidInputError(
                f"`network` must have no output bias for {who}, got one; "
                "leave it out (`--output-bias none`), or use the constant coordinate 1 (`--bias`)."
            )

    @property
    def initial_loss(self) -> float:
        """L at time 0."""
        return self.loss.total(self.network.outputs(self.dataset.X), self.dataset.y)


def _other_outputs(network: Network, dataset: Dataset) -> str:
    """The refusal of a network whose outputs are not those of the labels."""
    if dataset.classes is not None:
        wanted = f"one for each class ({', '.join(dataset.classes[:6])}{', ...' if len(dataset.classes) > 6 else ''})"
    else:
        wanted = "one for each column of `y`" if dataset.num_outputs > 1 else "for one label per sample"
    return (
        f"`network` must have {dataset.num_outputs} output{'s' if dataset.num_outputs > 1 else ''}, {wanted}, "
        f"got {network.num_outputs}; its output weights `v` have shape {network.v.shape}."
    )
