"""Networks of other packages: the same function here and there, and no code run while reading."""

import io
import json
import pickle
import sys
import types
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from reluflow.errors import InvalidInputError, MissingExtraError
from reluflow.network import Network, read_network, write_network

FIXTURES = Path(__file__).parent / "fixtures"
ORACLE = json.loads((FIXTURES / "outputs.json").read_text())
POINTS = np.array(ORACLE["points"])
WITH_BIAS = np.column_stack([POINTS, np.ones(3)])


@pytest.mark.parametrize("name", ["hidden_bias.pt", "hidden_bias.safetensors"])
def test_pytorch_computes_the_same_with_a_hidden_bias(name):
    network = Network.from_torch(FIXTURES / name, leak=0.1)
    assert (network.num_neurons, network.d) == (4, 4)
    np.testing.assert_allclose(network(WITH_BIAS), ORACLE["outputs"]["hidden_bias"], rtol=1e-6)


def test_the_output_bias_of_a_checkpoint_is_that_of_the_network():
    network = read_network(FIXTURES / "checkpoint.pt")
    assert network.num_neurons == 4
    assert network.b == pytest.approx(ORACLE["outputs"]["checkpoint_output_bias"], rel=1e-14)
    np.testing.assert_allclose(network(WITH_BIAS), ORACLE["outputs"]["checkpoint"], rtol=1e-12)


def test_bfloat16_and_no_bias():
    network = read_network(FIXTURES / "bfloat16.pt")
    assert network.d == 3
    np.testing.assert_allclose(network(POINTS), ORACLE["outputs"]["bfloat16"], rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("whole_module.pt", r"must hold a state dict only, got torch.nn.modules.container.Sequential"),
        ("three_layers.pt", "got 3 matrices"),
        ("none.pt", "cannot be read as a network: No such file"),
        ("none.safetensors", "cannot be read as a network: No such file"),
    ],
)
def test_what_is_no_such_network_is_refused(name, words):
    with pytest.raises(InvalidInputError, match=words):
        read_network(FIXTURES / name)


class Bomb:
    """Unpickled carelessly, it would call a function."""

    def __reduce__(self):
        return (exec, ("raise SystemExit('the pickle ran')",))


def archive_of(path: Path, content: bytes, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("net/data.pkl", content)
        for name, member in members.items():
            archive.writestr(f"net/{name}", member)
    return path


def test_no_code_is_run(tmp_path):
    for payload in (Bomb(), {"0.weight": Bomb()}, [Bomb()]):
        path = archive_of(tmp_path / "bomb.pt", pickle.dumps(payload))
        with pytest.raises(InvalidInputError, match="would run code"):
            read_network(path)
    # a bare pickle, as PyTorch wrote before 1.6, is not even opened
    (tmp_path / "old.pt").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InvalidInputError, match="zip archive"):
        read_network(tmp_path / "old.pt")


def test_damaged_checkpoints_are_refused(tmp_path):
    good = (FIXTURES / "hidden_bias.pt").read_bytes()
    rng = np.random.default_rng(0)
    path = tmp_path / "damaged.pt"
    for _ in range(60):
        content = bytearray(good)
        for place in rng.integers(0, len(good), 8):
            content[place] = rng.integers(256)
        path.write_bytes(bytes(content[: rng.integers(1, len(good) + 1)]))
        try:
            network = read_network(path, leak=0.1)
        except InvalidInputError:
            continue
        assert network.num_neurons == 4  # the damage was in the numbers' bytes or the padding
    safe = (FIXTURES / "hidden_bias.safetensors").read_bytes()
    for length in (0, 4, 9, 60, len(safe) - 3):
        (tmp_path / "cut.safetensors").write_bytes(safe[:length])
        with pytest.raises(InvalidInputError):
            read_network(tmp_path / "cut.safetensors")


def test_tensor_beyond_its_bytes_is_refused(tmp_path):
    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            return value if isinstance(value, tuple) and value[:1] == ("storage",) else None

    torch = types.ModuleType("torch")
    torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
    utils = types.ModuleType("torch._utils")

    def _rebuild_tensor_v2():
        raise AssertionError("never called")

    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2

    class Tensor:
        def __init__(self, size, stride):
            self.size, self.stride = size, stride

        def __reduce__(self):
            storage = ("storage", torch.FloatStorage, "0", "cpu", 4)
            return _rebuild_tensor_v2, (storage, 0, self.size, self.stride, False, OrderedDict())

    buffer = io.BytesIO()
    before = dict(sys.modules)
    sys.modules |= {"torch": torch, "torch._utils": utils}
    try:
        Pickler(buffer, protocol=2).dump({"w": Tensor((100, 100), (100, 1))})
    finally:
        for name in ("torch", "torch._utils"):
            sys.modules.pop(name)
            if name in before:
                sys.modules[name] = before[name]
    path = archive_of(tmp_path / "beyond.pt", buffer.getvalue(), **{"data/0": bytes(16)})
    with pytest.raises(InvalidInputError, match="larger than its bytes"):
        read_network(path)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".csv"])
def test_round_trip(tmp_path, rng, suffix):
    network = Network(rng.standard_normal((5, 3)), rng.standard_normal(5), leak=0.2, weight=rng.uniform(1, 2, 5))
    path = write_network(network, tmp_path / f"network{suffix}")
    again = read_network(path, leak=0.2)
    for field in ("w", "a", "weight", "leak", "log_scale"):
        assert np.array_equal(getattr(again, field), getattr(network, field))
    if suffix != ".csv":
        assert read_network(path).leak == 0.2
        with pytest.raises(InvalidInputError, match=r"leak 0\.2, got leak 0; pass --leak 0\.2"):
            read_network(path, leak=0.0)


def test_scale_outside_a_double_is_kept_by_npz(tmp_path):
    network = Network([[1.0, 2.0]], [3.0], log_scale=-900.0)
    assert read_network(write_network(network, tmp_path / "tiny.npz")).log_scale == -900.0
    with pytest.raises(InvalidInputError, match="do not fit a double"):
        write_network(network, tmp_path / "tiny.csv")


def test_npz_by_hand(tmp_path):
    np.savez(tmp_path / "net.npz", w=[[1, 2]], a=[3])
    assert np.array_equal(read_network(tmp_path / "net.npz").w, [[1.0, 2.0]])
    np.savez(tmp_path / "net.npz", **{"fc1.weight": np.ones((4, 2)), "fc2.weight": np.ones((1, 4))})
    assert read_network(tmp_path / "net.npz").num_neurons == 4
    for held, words in (
        ({"w": [["x"]], "a": [1]}, "must hold numbers"),
        ({"q": [1]}, "got 0 matrices"),
        ({"1.weight": np.ones((4, 2)), "2.weight": np.ones((3, 5))}, "fit together"),
        ({"1.weight": np.ones((4, 2)), "2.weight": np.ones((1, 4)), "bn.mean": np.ones(4)}, "got also bn.mean"),
    ):
        np.savez(tmp_path / "net.npz", **held)
        with pytest.raises(InvalidInputError, match=words):
            read_network(tmp_path / "net.npz")


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_scikit_learn(rng):
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    X = rng.standard_normal((40, 3))
    with_bias = np.column_stack([X, np.ones(40)])
    regressor = MLPRegressor(hidden_layer_sizes=(6,), max_iter=50, random_state=0, solver="lbfgs").fit(X, X[:, 0] ** 2)
    network = Network.from_sklearn(regressor)
    np.testing.assert_allclose(network(with_bias), regressor.predict(X), rtol=1e-9, atol=1e-9)
    classifier = MLPClassifier(hidden_layer_sizes=(6,), max_iter=5, random_state=0, solver="lbfgs").fit(X, X[:, 0] > 0)
    chances = classifier.predict_proba(X)[:, 1]
    is_moderate = (chances > 1e-9) & (chances < 1 - 1e-9)
    assert np.sum(is_moderate) > 5
    log_odds = np.where(
        is_moderate, np.log(np.maximum(chances, 1e-300)) - np.log1p(-np.minimum(chances, 0.999999999)), 0
    )
    ours = Network.from_sklearn(classifier)(with_bias)
    np.testing.assert_allclose(ours[is_moderate], log_odds[is_moderate], rtol=1e-6)
    with pytest.raises(InvalidInputError, match="one hidden layer, got 2"):
        Network.from_sklearn(MLPRegressor(hidden_layer_sizes=(3, 3), max_iter=5, solver="lbfgs").fit(X, X[:, 0]))
    smooth = MLPRegressor(hidden_layer_sizes=(3,), max_iter=5, solver="lbfgs", activation="tanh").fit(X, X[:, 0])
    with pytest.raises(InvalidInputError, match="activation='relu'"):
        Network.from_sklearn(smooth)
    with pytest.raises(InvalidInputError, match="a fitted MLPClassifier"):
        Network.from_sklearn(MLPRegressor())


def test_equinox_and_flax(rng):
    eqx = pytest.importorskip("equinox")
    import jax

    model = eqx.nn.MLP(3, 1, width_size=5, depth=1, use_final_bias=False, key=jax.random.key(0))
    x = rng.standard_normal((4, 3)).astype(np.float32)
    network = Network.from_equinox(model)
    np.testing.assert_allclose(
        network(np.column_stack([x, np.ones(4)])), jax.jit(jax.vmap(model))(x)[:, 0], rtol=1e-4, atol=1e-6
    )
    w, a = rng.standard_normal((5, 3)), rng.standard_normal(5)
    params = {"params": {"Dense_0": {"kernel": w.T}, "Dense_1": {"kernel": a[:, None]}}}
    np.testing.assert_array_equal(Network.from_flax(params).w, w)


class Linear:
    """The manners of a PyTorch module, without PyTorch."""

    def children(self):
        return []


class LeakyReLU(Linear):
    negative_slope = 0.25


class Tanh(Linear):
    pass


class Sequential:
    def __init__(self, *parts, state):
        self.parts, self.state = parts, state

    def children(self):
        return self.parts

    def modules(self):
        return [self, *self.parts]

    def state_dict(self):
        return self.state


def test_module_by_its_manners():
    state = {"0.weight": np.ones((4, 2)), "0.bias": np.zeros(4), "2.weight": np.ones((1, 4))}
    assert Network.from_torch(Sequential(Linear(), LeakyReLU(), Linear(), state=state)).leak == 0.25
    assert Network.from_torch(state).d == 3
    with pytest.raises(InvalidInputError, match="got a Tanh in it"):
        Network.from_torch(Sequential(Linear(), Tanh(), Linear(), state=state))
    with pytest.raises(InvalidInputError, match=r"`leak` must be 0.25"):
        Network.from_torch(Sequential(Linear(), LeakyReLU(), Linear(), state=state), leak=0.5)
    with pytest.raises(InvalidInputError, match="a PyTorch module, a state dict or the path of one, got int"):
        Network.from_torch(3)


def test_and_back(monkeypatch):
    network = Network([[1.0, 2.0]], [3.0], weight=[4.0], log_scale=np.log(2.0))
    arrays = network.to_numpy()
    np.testing.assert_allclose(arrays["w"], [[4.0, 8.0]])
    np.testing.assert_allclose(arrays["a"], [12.0])
    stand_in = types.ModuleType("torch")
    stand_in.from_numpy = lambda array: ("tensor", array)
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    state = network.to_torch_state(hidden_bias=True)
    assert list(state) == ["0.weight", "0.bias", "2.weight"]
    np.testing.assert_allclose(state["0.bias"][1], [8.0])
    np.testing.assert_allclose(state["2.weight"][1], [[12.0]])
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="pip install torch"):
        network.to_torch_state()
