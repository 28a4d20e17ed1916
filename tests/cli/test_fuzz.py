"""Every command, called with files and options at random: a status of 0, 1 or 2, and never a traceback.

Each call is built from its own seed, so a failure names the words that repeat it. A call may take long where the
mathematics does; it is then stopped, which counts as no fault here.
"""

import contextlib
import io
import os
import signal
import threading
import warnings

import numpy as np
import pytest

from reluflow.cli.main import COMMANDS, run

SECONDS_PER_CALL = 3.0
CALLS, ALL_CALLS = 100, 2000

COMMANDS_WITH_DATA = ("diagnose", "extremal", "align", "train", "margin", "certify", "check")
NUMBERS = ["0", "1", "-1", "0.5", "1e-3", "1e-400", "1e400", "1e-2000060", "nan", "inf", "-inf", "1e308", "1e-308",
           "1e5", "two", "", "0x10", "1,2", "99999999999999999999", "-0", "3.7"]  # fmt: skip
WORDS = ["", "y", "label", "a,b", "nothing", "3,8", "1,-1", "cat,dog", "cat", "a,a", '"', ",", "numbers", "x1", "\x00",
         "ü", "--json", "a b"]  # fmt: skip
REGISTERED = ["three-points", "min-toy", "phuong-toy", "three-point-box:eta=0.05", "three-point-box:eta=nan",
              "no-such-name", "three-points:eta=1", "lyu-orthogonal", "orthogonally-separable:n=4,d=2", ":",
              "three-points:"]  # fmt: skip
THEOREMS = ["boursier2024:lemma1", "min2024:thm1", "boursier2024:nothing", "", "phuong2021:thm1"]


class TooLong(BaseException):
    """The time of a call is over."""


def random_table(rng, folder):
    """A table of a kind people have, or of one they should not have."""
    if rng.random() < 0.5:  # a sound one, so that the options get their turn
        n, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        path = folder / "sound.csv"
        labels = [["1", "-1"], ["0.5", "1.5", "-2"]][int(rng.integers(2))]
        rows = [[f"{x:.2f}" for x in rng.standard_normal(d)] + [str(rng.choice(labels))] for _ in range(n)]
        rows[int(rng.integers(n))][:d] = rows[0][:d]  # sometimes a repeated one
        header = [*(f"x{k + 1}" for k in range(d)), "y"]
        path.write_text("\n".join(",".join(row) for row in [header, *rows]))
        return str(path)
    n, d = int(rng.integers(0, 8)), int(rng.integers(0, 4))
    delimiter = rng.choice([",", ";", "\t", " "])
    pools = [
        ["1", "-1", "0.5", "2", "-3", "0", "1e3"],
        ["1e5", "1e-3", "-2e4", "3"],
        ["1", "2", "", "NA"],
        ["1", "nan", "inf", "-1e308", "1e308", "1e-308"],
        ["cat", "dog", "1"],
        ["1,5", "2", "-0,25"],
        ['"1"', '"a;b"', "7"],
    ]
    pool = pools[int(rng.choice(len(pools), p=[0.5, 0.12, 0.08, 0.08, 0.08, 0.08, 0.06]))]
    labels = [["1", "-1"], ["0", "1"], ["cat", "dog"], ["0.5", "1.5", "-2"], ["1", "2", "3"], ["a", "b", "c"], ["1"]]
    chosen = labels[int(rng.integers(len(labels)))]
    names = [*(f"x{k + 1}" for k in range(d)), str(rng.choice(["y", "class", "kind", "label", "x1", ""]))]
    lines = [] if rng.random() < 0.1 else [delimiter.join(names)]
    for _ in range(n):
        lines.append(delimiter.join([*(str(rng.choice(pool)) for _ in range(d)), str(rng.choice(chosen))]))
    if rng.random() < 0.1 and lines:
        lines[int(rng.integers(len(lines)))] += delimiter
    content = "\n".join(lines).encode()
    if rng.random() < 0.1:
        content = b"\xef\xbb\xbf" + content
    if rng.random() < 0.05:
        content = bytes(rng.integers(0, 256, 40, dtype=np.uint8))
    path = (
        folder / f"table{rng.choice(['.csv', '.csv', '.csv', '.tsv', '.txt', '.npy', '.npz', '.parquet', '.doc', ''])}"
    )
    if path.suffix in (".npy", ".npz") and rng.random() < 0.8 and n:
        X, y = rng.standard_normal((n, max(d, 1))), rng.choice([-1.0, 1.0], n)
        np.save(path, np.column_stack([X, y])) if path.suffix == ".npy" else np.savez(path, X=X, y=y)
    else:
        path.write_bytes(content)
    return str(path)


def random_network(rng, folder):
    d, m = int(rng.integers(1, 4)), int(rng.integers(0, 4))
    path = folder / f"net{rng.choice(['.csv', '.npz', '.safetensors', '.pt', '.json'])}"
    if path.suffix == ".npz" and rng.random() < 0.7:
        np.savez(path, w=rng.standard_normal((m, d)), a=rng.standard_normal(m))
    elif path.suffix in (".safetensors", ".pt"):
        path.write_bytes(bytes(rng.integers(0, 256, int(rng.integers(0, 60)), dtype=np.uint8)))
    else:
        header = ",".join([*(f"w{k + 1}" for k in range(d)), "a"])
        rows = [
            ",".join(
                str(rng.choice(["1", "-0.5", "0", "1e200", "x"], p=[0.4, 0.4, 0.1, 0.05, 0.05])) for _ in range(d + 1)
            )
            for _ in range(m)
        ]
        path.write_text("\n".join([header, *rows]))
    return str(path)


def random_options(rng, command, folder):
    """Some of the options there are, with values good and bad."""
    number, word = (lambda: str(rng.choice(NUMBERS))), (lambda: str(rng.choice(WORDS)))
    usual = {
        "--loss": lambda: str(rng.choice(["square", "logistic", "exponential", "hinge"])),
        "--reduction": lambda: str(rng.choice(["mean", "sum", "max"])),
        "--factor": number, "--leak": number, "--seed": number, "--target": word, "--features": word, "--drop": word,
        "--labels": word, "--bias": None, "--standardise": None, "--drop-missing": None, "--json": None,
    }  # fmt: skip
    own = {
        "align": {"--width": number, "--init": lambda: str(rng.choice(["balanced", "dominated", "lee", "xavier"]))},
        "train": {
            "--scale": number, "--until": lambda: str(rng.choice(["stationary", "aligned", "direction", "1", "never"])),
            "--horizon": number, "--times": lambda: str(rng.choice(["0.1,0.2", "1,x", "-1", "nan", ""])),
            "--rtol": number, "--method": lambda: str(rng.choice(["flow", "gd", "sgd", "adam"])), "--lr": number,
            "--iterations": lambda: str(rng.choice(["5", "0", "-3", "x"])), "--batch": number,
            "--ridge": lambda: str(rng.choice(["stop", "positive", "stay"])),
            "--init": lambda: str(rng.choice(["balanced", "unbalanced", random_network(rng, folder)])),
            "--save": lambda: str(rng.choice([folder / "no" / "run.nc", folder / "run.txt"])),
            "--save-network": lambda: str(rng.choice([folder / "out.npz", folder / "no" / "out.csv"])),
        },
        "check": {"--scale": number, "--width": lambda: str(rng.choice(["3", "0", "x"])), "--horizon": number,
                  "--set": lambda: str(rng.choice(["eps=0.5", "eps", "q=1"])), "--until": number},
        "certify": {"--tolerance": number, "--from-here": None},
        "margin": {"--network": None, "--no-network": None},
    }.get(command, {})  # fmt: skip
    refused = {"margin": {"--loss", "--reduction", "--factor"}, "certify": set()}.get(command, set())
    offered = {name: value for name, value in (usual | own).items() if name not in refused or rng.random() < 0.1}
    names = [
        str(name) for name in rng.choice(list(offered), size=min(int(rng.integers(0, 5)), len(offered)), replace=False)
    ]
    words = []
    for name in names:
        value = offered[name]
        words += [name] if value is None else [name, value()]
    if command == "train":
        words += ["--width", str(rng.choice(["2", "5", "inf", "0"], p=[0.5, 0.4, 0.02, 0.08]))]
        if "--horizon" not in words and rng.random() < 0.9:
            words += ["--horizon", "5"]
    return words


def random_words(seed, folder):
    rng = np.random.default_rng(seed)
    command = str(
        rng.choice(
            [
                *COMMANDS_WITH_DATA,
                *COMMANDS_WITH_DATA,
                "datasets",
                "theorems",
                "study",
                "reproduce",
                "bench",
                "nonsense",
            ]
        )
    )
    if command == "nonsense":
        return [str(rng.choice(["", "--what", "diagnos", "\x00"])), *random_options(rng, "diagnose", folder)]
    if command in ("datasets", "theorems", "reproduce", "bench"):
        return [
            command,
            str(rng.choice(["--help", "nothing", "--json=1", "min2025"])),
            *(["--json"] if rng.random() < 0.5 else []),
        ]
    given = random_table(rng, folder) if rng.random() < 0.75 else str(rng.choice(REGISTERED))
    words = [command]
    if command == "check":
        words.append(str(rng.choice(THEOREMS)))
    words += [given, *random_options(rng, command, folder)]
    if command == "study":
        words += ["--quick", "--width", "2", "--out", str(folder / "out")]
    if command == "certify":
        words += ["--init", random_network(rng, folder)]
    return words


@contextlib.contextmanager
def limited(seconds):
    """Stop what takes longer; only the main thread can be told so."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_):
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)  # again and again, for a callback may have swallowed it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def call(words):
    """Status, output and what was said of one call, None where it took too long; what escapes is the fault."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
            limited(SECONDS_PER_CALL),
        ):
            warnings.simplefilter("ignore")
            run(words)
    except SystemExit as end:
        return end.code, out.getvalue(), err.getvalue()
    except TooLong:
        return None
    raise AssertionError("`run` returned")


def faults(seeds, folder):
    found, stopped = [], 0
    for seed in seeds:
        words = random_words(seed, folder)
        try:
            answer = call(words)
        except (KeyboardInterrupt, AssertionError):
            raise
        except BaseException as error:
            if isinstance(error.__cause__ or error.__context__, TooLong):  # compiled code wraps what reaches it
                stopped += 1
                continue
            if stopped and "no compiled object yet" in str(error):  # an alarm rang while Numba compiled that function
                stopped += 1
                continue
            found.append(f"seed {seed}: reluflow {' '.join(map(repr, words))}: {type(error).__name__}: {error}")
            continue
        if answer is None:
            stopped += 1
            continue
        status, out, err = answer
        if "TooLong" in err:  # the alarm rang within a callback, where Python prints what it cannot raise
            stopped += 1
            continue
        said = [line for line in err.splitlines() if not line.startswith("Note:")]
        if status not in (0, 1, 2):
            found.append(f"seed {seed}: {words}: status {status}")
        elif "Traceback" in err:
            found.append(f"seed {seed}: {words}: {err[-300:]}")
        elif status == 2 and (len(said) != 1 or out):
            found.append(f"seed {seed}: {words}: not one sentence: {err!r} {out[:80]!r}")
    return found, stopped


def load_everything(folder):
    """Import and compile without a limit: an alarm in the middle of an import leaves half a package behind."""
    import xarray  # noqa: F401

    for words in (
        ["train", "three-points", "--width", "30", "--solver", "event-driven"],
        ["train", "three-points", "--width", "30", "--solver", "collocation"],
        ["train", "min-toy", "--width", "10", "--solver", "event-driven"],
        ["train", "three-points", "--width", "5", "--method", "gd", "--iterations", "5"],
        ["extremal", "three-points"],
        ["align", "three-points", "--width", "5"],
        ["margin", "min-toy"],
        ["check", "boursier2024:lemma1"],
        ["study", "three-points", "--quick", "--width", "2", "--out", str(folder / "out")],
    ):
        quiet = io.StringIO()
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), pytest.raises(SystemExit):
            run(words)


def check_calls(seeds, folder, most_stopped):
    before = os.getcwd()
    os.chdir(folder)
    try:
        load_everything(folder)
        found, stopped = faults(seeds, folder)
    finally:
        os.chdir(before)
    assert not found, "\n".join(found)
    assert stopped <= most_stopped * len(seeds)


def test_no_call_at_random_ends_in_a_traceback(tmp_path):
    check_calls(range(CALLS), tmp_path, 0.1)


@pytest.mark.slow
def test_no_call_of_thousands_ends_in_a_traceback(tmp_path):
    check_calls(range(1000, 1000 + ALL_CALLS), tmp_path, 0.1)


def test_every_command_with_data_takes_the_options_of_tables(capsys):
    for command in (*COMMANDS_WITH_DATA, "study"):
        with pytest.raises(SystemExit):
            run([command, "--help"])
        text = capsys.readouterr().out
        for option in ("--target", "--features", "--drop", "--labels", "--drop-missing", "--standardise"):
            assert option in text, command
    assert set(COMMANDS_WITH_DATA) < set(COMMANDS)
