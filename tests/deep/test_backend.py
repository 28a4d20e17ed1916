"""The extra: what is said where it is missing, and that nobody loads it unasked."""

import subprocess
import sys

import pytest

import reluflow.deep


@pytest.mark.parametrize("name", reluflow.deep.__all__)
def test_every_name_opens(name):
    assert getattr(reluflow.deep, name) is not None
    assert name in dir(reluflow.deep)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match=r"No reluflow\.deep attribute Transformer"):
        reluflow.deep.Transformer  # noqa: B018


def run_fresh(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_package_imports_without_jax():
    assert run_fresh("import sys, reluflow.deep; print('jax' in sys.modules)").strip() == "False"


@pytest.mark.parametrize("package", ["jax", "equinox", "optax"])
def test_a_missing_package_is_named_with_the_way_to_install_it(package):
    said = run_fresh(
        f"import sys; sys.modules[{package!r}] = None\n"
        "from reluflow.errors import MissingExtraError\n"
        "try:\n    from reluflow.deep import train_deep\n"
        "except MissingExtraError as error:\n    print(error)"
    )
    assert said.strip() == f"Deep networks need {package}, which is not installed: pip install 'reluflow[deep]'."
