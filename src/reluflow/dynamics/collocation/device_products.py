"""DeviceProducts: the large products of a run on an accelerator, by JAX, which no other file of this folder imports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, SignArray
from reluflow.dynamics.collocation.largest_modes import ModesSearch
from reluflow.dynamics.collocation.outputs_kernel import OutputsKernel
from reluflow.dynamics.collocation.tuning import DEVICE_ROWS, DEVICE_SAMPLES
from reluflow.errors import InvalidInputError, MissingExtraError

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError as error:
    if error.name not in ("jax", "jaxlib"):
        raise
    raise MissingExtraError(
        f"A flow on an accelerator needs {error.name}, which is not installed: pip install 'reluflow[gpu]'."
    ) from error

_WALLS_TOGETHER = 4  # neurons slide along a multiple of so many walls on the device, so that little is compiled again
_AT_ONCE = {"xla_gpu_autotune_level": 0}  # trying out variants of a product takes longer than they save


def accelerator() -> Any:
    """The accelerator that JAX sees; refused where there is none."""
    device = jax.devices()[0]
    if device.platform == "cpu":
        raise InvalidInputError("`device` is 'gpu', but JAX sees no accelerator on this machine.")
    return device


class DeviceProducts:
    """Products with the samples of a run, which stay on the device.

    Parameters
    ----------
    X
        The samples, shape (n, d).
    normals
        Of their walls, shape (num_walls, d).
    leak
        The negative slope.
    kernel_dtype
        The precision of tangent kernels.
    has_whole_kernel
        Whether the tangent kernel is made; that of several outputs is not.
    """

    def __init__(
        self,
        X: FloatArray,
        normals: FloatArray,
        leak: float,
        kernel_dtype: np.dtype[Any],
        *,
        has_whole_kernel: bool = True,
    ) -> None:
        self._made_of = (X, normals, leak, kernel_dtype)
        self._has_whole_kernel = has_whole_kernel
        device = accelerator()
        needed = 3 * (X.nbytes + normals.nbytes)
        if has_whole_kernel:
            needed += 4 * len(X) ** 2 * kernel_dtype.itemsize
        free = (device.memory_stats() or {}).get("bytes_limit", 2**63)
        if needed > free:
            raise InvalidInputError(
                f"`problem` needs about {needed:,} bytes of the accelerator's memory ({len(X)} samples) and it has "
                f"{free:,}; take fewer samples, or device='cpu'."
            )
        self._device, self._leak, self._num_walls = device, leak, len(normals)
        with self._arithmetic():
            self._X, self._normals = (self._put(_filled(part, DEVICE_SAMPLES)) for part in (X, normals))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(DeviceProducts, has_whole_kernel=self._has_whole_kernel), self._made_of

    @cached_property
    def _gram(self) -> Any:
        return _products(self._X, self._X).astype(self._made_of[-1])

    @cached_property
    def _blocks(self) -> Any:
        """The samples in the precision of tangent kernels, block by block."""
        return self._X.reshape(-1, DEVICE_SAMPLES, self._X.shape[1]).astype(self._made_of[-1])

    def gram(self) -> NDArray[Any]:
        """X X^T in the precision of tangent kernels."""
        n = len(self._made_of[0])
        with self._arithmetic():
            return _cut(self._gram, slice(n), n)

    def outputs(self, places: FloatArray, mass: FloatArray) -> FloatArray:
        """h at P moments, shape (P, n K), from places (m, P, d + K) of neurons with given masses."""
        n, d = self._made_of[0].shape
        with self._arithmetic():
            found = _outputs(_filled(places, DEVICE_ROWS), _filled(mass, DEVICE_ROWS), self._X, self._leak)
            return _cut(found, slice(None), n * (places.shape[2] - d))

    def heights(self, w: FloatArray) -> FloatArray:
        """<w_j, normal_b>, shape (m, num_walls)."""
        with self._arithmetic():
            return _cut(_products(_filled(w, DEVICE_ROWS), self._normals), slice(len(w)), self._num_walls)

    def sides(self, sides: SignArray) -> Any:
        """Sides of walls (m, num_walls) that neurons stand on, kept on the device for `felt`."""
        with self._arithmetic():
            return self._put(self._filled_up(_filled(sides, DEVICE_ROWS), len(self._normals)))

    def felt(self, sides: Any, plus: FloatArray, minus: FloatArray) -> FloatArray:
        """What walls that pull with strengths (q, num_walls) do to neurons on their sides, shape (m, q, d).

        Rows of zeros may follow, for neurons that are none.
        """
        with self._arithmetic():
            pulls = (self._filled_up(part, len(self._normals)) for part in (plus, minus))
            return np.array(_felt(sides, *pulls, self._normals))

    def largest_modes(
        self, parts: tuple[NDArray[Any], ...], weights: FloatArray, smallest: float, guess: FloatArray | None
    ) -> tuple[FloatArray, FloatArray] | None:
        """As `largest_modes` of weight_k K_kl weight_l, from the parts of a tangent kernel of all samples."""
        n, num_filled = len(weights), len(self._X)
        with self._arithmetic():
            dtype = self._gram.dtype
            filled = (self._filled_up(_filled(part.astype(dtype), DEVICE_ROWS), num_filled) for part in parts)
            kernel = _kernel(*filled, self._gram, self._filled_up(weights.astype(dtype)[None], num_filled)[0])
            search = ModesSearch(n, smallest, guess, dtype)
            while search.goes_on:
                values, basis = _sharpened(kernel, _filled(search.basis, DEVICE_SAMPLES))
                search.learn(np.array(values), np.array(basis)[:n])
            return search.found

    def largest_modes_of_outputs(
        self, kernel: OutputsKernel, root: FloatArray, smallest: float, guess: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Modes U (n K, r) of B^T K B down to `smallest`, the matrix K B U and the eigenvalues; None if too many.

        K is a kernel of several outputs and B what `roots` gives.
        """
        n, num_outputs, dtype = len(self._made_of[0]), kernel.v.shape[1], self._made_of[-1]
        num_forces = n * num_outputs
        blocks = root if root.ndim == 3 else root.reshape(n, -1)[:, :, None] * np.eye(num_outputs)
        with self._arithmetic():
            parts = (
                *(self._filled_up(_filled(part.astype(dtype), DEVICE_ROWS), len(self._X)) for part in kernel.by_sample),
                _filled(kernel.v.astype(dtype), DEVICE_ROWS),
                _filled(kernel.walls_slid_along(_WALLS_TOGETHER).astype(dtype), DEVICE_ROWS),
                dtype.type(kernel.bias_rate),
            )
            root_there = self._put(_filled(blocks.astype(dtype), DEVICE_SAMPLES))
            search = ModesSearch(num_forces, smallest, guess, dtype)
            moved = None
            while search.goes_on:
                basis = _filled(search.basis, DEVICE_SAMPLES * num_outputs)
                values, basis, moved = _sharpened_of_outputs(parts, self._blocks, root_there, basis)
                search.learn(np.array(values), np.array(basis)[:num_forces])
            if search.found is None:
                return None
            return search.found[0], np.array(moved, dtype=np.float64)[:num_forces], search.found[1]

    def _put(self, part: NDArray[Any]) -> Any:
        return jax.device_put(part, self._device)

    @staticmethod
    def _filled_up(part: NDArray[Any], length: int) -> NDArray[Any]:
        """Rows made so long with zeros."""
        filled = np.zeros((len(part), length), dtype=part.dtype)
        filled[:, : part.shape[1]] = part
        return filled

    @contextmanager
    def _arithmetic(self) -> Iterator[None]:
        """Double precision, and all digits of single precision in products, whatever the caller's JAX does."""
        with jax.enable_x64(True), jax.default_matmul_precision("highest"), jax.default_device(self._device):
            yield


def _filled(rows: NDArray[Any], multiple: int) -> NDArray[Any]:
    """Rows, and rows of zeros after them."""
    filled = np.zeros((-len(rows) % multiple + len(rows), *rows.shape[1:]), dtype=rows.dtype)
    filled[: len(rows)] = rows
    return filled


def _cut(found: Any, rows: slice, num_columns: int) -> NDArray[Any]:
    """Some of the numbers in memory of their own: for an array with gaps all machine code would be compiled again."""
    return np.ascontiguousarray(np.asarray(found)[rows, :num_columns])


_compiled = partial(jax.jit, compiler_options=_AT_ONCE)


@partial(_compiled, static_argnums=3)
def _outputs(places: Any, mass: Any, X: Any, leak: float) -> Any:
    d = X.shape[1]
    heights = jnp.einsum("jpi,ki->jpk", places[:, :, :d], X)
    values = jnp.maximum(heights, leak * heights)
    return jnp.einsum("jpc,jpk->pkc", places[:, :, d:] * mass[:, None, None], values).reshape(places.shape[1], -1)


@_compiled
def _products(rows: Any, others: Any) -> Any:
    return rows @ others.T


@_compiled
def _felt(sides: Any, plus: Any, minus: Any, normals: Any) -> Any:
    strengths = jnp.where(sides[:, None] > 0, plus, jnp.where(sides[:, None] < 0, minus, 0.0))
    return jnp.einsum("jqb,bi->jqi", strengths, normals)


@_compiled
def _kernel(outer: Any, inner: Any, normal: Any, gram: Any, weights: Any) -> Any:
    outer, inner, normal = (part * weights for part in (outer, inner, normal))
    return (outer.T @ outer) * gram + inner.T @ inner - normal.T @ normal


@_compiled
def _sharpened(kernel: Any, basis: Any) -> tuple[Any, Any]:
    for _ in range(2):
        basis, _ = jnp.linalg.qr(kernel @ basis)
    values, vectors = jnp.linalg.eigh(basis.T @ (kernel @ basis))
    return values, basis @ vectors[:, ::-1]


@_compiled
def _sharpened_of_outputs(parts: tuple[Any, ...], X: Any, root: Any, basis: Any) -> tuple[Any, Any, Any]:
    across = jnp.swapaxes(root, 1, 2)
    for _ in range(2):
        basis, _ = jnp.linalg.qr(_by_blocks(across, _times(parts, X, _by_blocks(root, basis))))
    moved = _times(parts, X, _by_blocks(root, basis))
    values, vectors = jnp.linalg.eigh(basis.T @ _by_blocks(across, moved))
    vectors = vectors[:, ::-1]
    return values, basis @ vectors, moved @ vectors


def _by_blocks(blocks: Any, columns: Any) -> Any:
    """Blocks (n, K, K) times columns (n K, r)."""
    return (blocks @ columns.reshape(*blocks.shape[:2], -1)).reshape(columns.shape)


def _times(parts: tuple[Any, ...], X: Any, forces: Any) -> Any:
    """`OutputsKernel.times`; samples X come in blocks (b, k, d), the walls that neurons slide along as (m, s, d)."""
    slopes, inner, v, bases, bias_rate = parts
    num_blocks, size, d = X.shape
    num_neurons, num_outputs = v.shape
    flat = forces.reshape(num_blocks * size, -1)
    columns = forces.reshape(num_blocks, size, num_outputs, -1)
    own = (inner.T @ (inner @ flat)).reshape(columns.shape) + bias_rate * jnp.sum(columns, axis=(0, 1))
    slopes = slopes.T.reshape(num_blocks, size, num_neurons, 1)

    def add_pulls(pulls: Any, block: tuple[Any, Any, Any]) -> tuple[Any, None]:
        samples, slopes_there, columns_there = block
        felt = (v @ columns_there) * slopes_there  # (k, m, r)
        return pulls + samples.T @ felt.reshape(size, -1), None

    nothing = jnp.zeros((d, num_neurons * columns.shape[-1]), dtype=forces.dtype)
    pulls, _ = jax.lax.scan(add_pulls, nothing, (X, slopes, columns))
    pulls = pulls.reshape(d, num_neurons, -1)
    pulls -= jnp.einsum("msi,msr->imr", bases, jnp.einsum("msi,imr->msr", bases, pulls))
    pulls = pulls.reshape(d, -1)

    def moved(_: None, block: tuple[Any, Any]) -> tuple[None, Any]:
        samples, slopes_there = block
        return None, v.T @ ((samples @ pulls).reshape(size, num_neurons, -1) * slopes_there)

    return (own + jax.lax.scan(moved, None, (X, slopes))[1]).reshape(forces.shape)
