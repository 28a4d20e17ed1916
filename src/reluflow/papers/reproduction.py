"""Reproduction: a figure computed, judged and drawn, with what it took; and the record of many in one folder."""

from __future__ import annotations

import json
import math
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reluflow.data.atomic import locked, replacing
from reluflow.errors import InvalidInputError, MissingExtraError, ReluflowError
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure, Size
from reluflow.papers.registry import Entry, load_figure
from reluflow.papers.sources import code_fingerprint
from reluflow.papers.store import ResultStore, as_plain
from reluflow.papers.typed_results import Tree, as_tree
from reluflow.papers.workbench import Progress, Workbench

RECORD = "results.json"


@dataclass(frozen=True)
class Reproduction:
    """What came out for one figure.

    Parameters
    ----------
    key, title, shows
        Of the figure.
    size
        Quick or full.
    settings
        The settings it was computed with, as plain values.
    files
        What was drawn.
    claims
        The paper's statements, judged.
    seconds
        How long this took now, drawing included.
    computing_seconds
        How long the computation took when it was done, now or earlier, in seconds of one core.
    problem
        One sentence where it could not be made, else empty.
    is_missing_extra
        Whether the problem is a package that is not installed.
    picture_size
        The size at which the files were drawn; by default that of the numbers.
    device
        The accelerator that worked beside the core, in words; empty for none.
    reduced
        What this size, where it is the full one, has less of than the paper; empty for nothing.
    """

    key: str
    title: str
    shows: str
    size: Size
    settings: Mapping[str, Any]
    files: tuple[Path, ...] = ()
    claims: tuple[Claim, ...] = ()
    seconds: float = 0.0
    computing_seconds: float = 0.0
    problem: str = ""
    is_missing_extra: bool = False
    picture_size: Size | None = None
    device: str = ""
    reduced: str = ""

    @property
    def size_in_words(self) -> str:
        """The size, and what it has less of than the paper.

        >>> Reproduction("x/fig1", "", "", Size.FULL, {}, reduced="20 draws of the paper's 100").size_in_words
        "full size (20 draws of the paper's 100)"
        """
        return f"{self.size} size" + (f" ({self.reduced})" if self.reduced else "")

    @property
    def has_failed(self) -> bool:
        """Whether a claim failed without a known reason, or the figure could not be made though all is installed."""
        return any(claim.is_failure for claim in self.claims) or (bool(self.problem) and not self.is_missing_extra)

    @property
    def command(self) -> str:
        """The command that makes it again."""
        return f"reluflow reproduce {self.key}" + (" --full" if self.size is Size.FULL else "")


def reproduce(
    figure: PaperFigure[Any, Any],
    size: Size,
    folder: Path,
    *,
    store: ResultStore | None = None,
    is_fresh: bool = False,
    progress: Progress | None = None,
    must_draw: bool = True,
) -> Reproduction:
    """Compute a figure, or take its results from the store; judge its claims; draw it into `folder`/<paper>.

    Parameters
    ----------
    figure
        Which.
    size
        Quick or full.
    folder
        Where its files go, in a subfolder named for the paper.
    store
        Where results are kept; None keeps nothing.
    is_fresh
        Whether to compute again what the store has.
    progress
        Called with the share done and a word on what is being done.
    must_draw
        Whether a missing drawing package is an error; else the claims are judged and the sentence is kept.
    """
    began = time.perf_counter()
    settings = figure.settings(size)
    workbench = Workbench(
        figure.key,
        settings,
        code=code_fingerprint(figure.compute.__module__),
        store=store,
        is_fresh=is_fresh,
        progress=progress,
    )
    results, computing_seconds = workbench.whole(figure.results_type, lambda: figure.compute(settings, workbench))
    claims = tuple(figure.claims(settings, results))
    workbench.progress(1.0, "drawing")
    home = folder / figure.key.partition("/")[0]
    home.mkdir(parents=True, exist_ok=True)
    files: tuple[Path, ...] = ()
    problem = ""
    try:
        files = tuple(Path(path) for path in figure.draw(settings, results, home))
    except MissingExtraError as error:
        if must_draw:
            raise
        problem = str(error)
    return Reproduction(
        key=figure.key,
        title=figure.title,
        shows=figure.shows,
        size=size,
        settings=as_plain(settings),
        files=files,
        claims=claims,
        seconds=time.perf_counter() - began,
        computing_seconds=computing_seconds,
        problem=problem,
        is_missing_extra=bool(problem),
        device=_accelerator(as_tree(results)),
        reduced=figure.reduced if size is Size.FULL else "",
    )


def _accelerator(results: Tree) -> str:
    """What computed beside the core, where a figure says so under a name that ends in "device"."""
    named = {str(value) for value in _devices(results)}
    return ", ".join(sorted(words for words in named if not words.startswith("cpu")))


def _devices(tree: Tree) -> Iterator[Tree]:
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for name, part in parts:
        if str(name).endswith("device"):
            yield part
        else:
            yield from _devices(part)


def reproduce_all(
    entries: Iterable[Entry],
    size: Size,
    folder: Path,
    *,
    store: ResultStore | None = None,
    is_fresh: bool = False,
    progress: Callable[[Entry, float, str], None] | None = None,
    goes_on: bool = True,
) -> Iterator[Reproduction]:
    """Reproduce figures one after the other.

    Parameters
    ----------
    entries, size, folder, store, is_fresh
        As for `reproduce`.
    progress
        Called with the entry under way, the share done and a word on what is being done.
    goes_on
        Whether a figure that cannot be made says why in a sentence and the rest goes on; else its error is raised.
    """
    for entry in entries:

        def report(share: float, words: str, entry: Entry = entry) -> None:
            if progress is not None:
                progress(entry, share, words)

        began = time.perf_counter()
        report(0.0, "starting")
        try:
            made = reproduce(
                load_figure(entry),
                size,
                folder,
                store=store,
                is_fresh=is_fresh,
                progress=report,
                must_draw=not goes_on,
            )
        except Exception as error:  # whatever is wrong with one figure, the others are still wanted
            if not goes_on:
                raise
            made = Reproduction(
                key=entry.key,
                title=entry.title,
                shows="",
                size=size,
                settings={},
                seconds=time.perf_counter() - began,
                problem=_sentence(error),
                is_missing_extra=isinstance(error, MissingExtraError),
            )
        yield made


def _sentence(error: Exception) -> str:
    """Our own errors are sentences; of any other, the last place in the papers' folders helps to find it."""
    if isinstance(error, ReluflowError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    in_papers = [frame for frame in frames if Path(__file__).parent in Path(frame.filename).parents[1:]]
    place = (in_papers or frames)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"


def write_record(made: Iterable[Reproduction], folder: Path) -> Path:
    """Write `results.json`: every reproduction of this folder with settings, claims, files and the time it took.

    The time is that of the computation, whenever it was done; to draw it again from kept results takes less.
    """
    record = {"reproductions": [_to_record(item, folder) for item in made]}
    path = folder / RECORD
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(path) as handle:
        handle.write(json.dumps(record, indent=1, allow_nan=False).encode())
    return path


def add_to_record(made: Iterable[Reproduction], folder: Path) -> tuple[Reproduction, ...]:
    """Put these into `results.json` beside what is there by now, and return all of it.

    Another process that makes figures in the same folder at the same time waits for the file and is not undone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        everything = merged(read_record(folder), made)
        write_record(everything, folder)
    return everything


def read_record(folder: Path) -> tuple[Reproduction, ...]:
    """The reproductions that `results.json` of a folder has; none where there is no such file."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return tuple(_from_record(item, folder) for item in record["reproductions"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"`{folder / RECORD}` must be a record of reproductions, got something else ({error}); "
            "remove it or name another folder with --out."
        ) from error


def merged(earlier: Iterable[Reproduction], new: Iterable[Reproduction]) -> tuple[Reproduction, ...]:
    """Both, a new one in the place of an earlier one with its key, sorted like the registry."""
    from reluflow.papers.registry import papers

    by_key = {item.key: item for item in earlier} | {item.key: item for item in new}
    order = list(papers())

    def place(item: Reproduction) -> tuple[int, str, int]:
        paper, _, name = item.key.partition("/")
        digits = "".join(filter(str.isdigit, name))
        return (order.index(paper) if paper in order else len(order), name.rstrip("0123456789"), int(digits or 0))

    return tuple(sorted(by_key.values(), key=place))


def _to_record(item: Reproduction, folder: Path) -> dict[str, Any]:
    return {
        "key": item.key,
        "title": item.title,
        "shows": item.shows,
        "size": str(item.size),
        "settings": _finite(dict(item.settings)),
        "files": [_relative(path, folder) for path in item.files],
        "claims": [_finite(as_plain(claim)) for claim in item.claims],
        "computing_seconds": item.computing_seconds,
        "problem": item.problem,
        "is_missing_extra": item.is_missing_extra,
        "command": item.command,
        "device": item.device,
        "reduced": item.reduced,
    } | ({} if item.picture_size is None else {"picture_size": str(item.picture_size)})


def _from_record(item: dict[str, Any], folder: Path) -> Reproduction:
    values = {key: value for key, value in item.items() if key not in ("command", "seconds")}
    claims = tuple(_claim_from(claim) for claim in item["claims"])
    files = tuple(folder / name for name in item["files"])
    drawn = Size(item["picture_size"]) if "picture_size" in item else None
    return Reproduction(
        **values | {"size": Size(item["size"]), "claims": claims, "files": files, "picture_size": drawn}
    )


def _claim_from(record: dict[str, Any]) -> Claim:
    """A claim of a record; one written before claims named their place in the paper says only whose it is."""
    values = dict(record)
    is_ours = values.pop("ours", False)
    return Claim(**{"source": OURS if is_ours else "the paper"} | values)


def _finite(value: Any) -> Any:
    """The same with infinities and nan as words, which JSON has no numbers for."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
