"""Small figures of no paper, to take the machinery through its paces."""

import struct
import sys
import types
import zlib
from dataclasses import dataclass

import numpy as np

from reluflow.errors import MissingExtraError
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.registry import Entry

ODD = 'a < b & "c" > d </script>'


@dataclass(frozen=True)
class Settings:
    width: int = 3
    words: str = ODD


@dataclass(frozen=True, eq=False)
class Found:
    values: np.ndarray


computed = []  # the keys of the figures that were computed and not taken from the store


def compute(settings, workbench) -> Found:
    computed.append(workbench.name)
    workbench.progress(0.5, "half")
    return Found(np.arange(settings.width) ** 2)


def interrupted(settings, workbench) -> Found:
    raise KeyboardInterrupt


def without_jax(settings, workbench) -> Found:
    raise MissingExtraError("This figure needs jax, which is not installed: pip install 'reluflow[jax]'.")


def broken(settings, workbench) -> Found:
    raise ZeroDivisionError("a bug <here>")


def claims(settings, results):
    return (
        Claim.equal(
            f"there are as many values as neurons, {ODD}", len(results.values), settings.width, source="Sec. 2"
        ),
        Claim.above(
            "the published bound holds", -1.0, 0.0, finding=True, why="the proof drops a term", source="Lemma 3"
        ),
        Claim("the limit is reached", None, "not run", "0", why="the quick size stops before", source=OURS),
    )


def failing_claims(settings, results):
    return (Claim.below("the loss vanishes", 0.5, 0.1, source="Sec. 2"),)


def draw(settings, results, folder):
    """A picture and a page, without matplotlib."""
    picture, page = folder / "toy.png", folder / "toy.html"
    picture.write_bytes(one_pixel())
    page.write_text(f"<!doctype html><title>toy</title><p>{settings.width}</p>")
    return picture, page


def draw_without_matplotlib(settings, results, folder):
    raise MissingExtraError("Drawing needs matplotlib, which is not installed: pip install 'reluflow[viz]'.")


def one_pixel():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def toy_entry(name, *, compute=compute, claims=claims, draw=draw, about=f"Toy: {ODD}.\n\nShows {ODD}\n\nand more."):
    """Make a figure, put it into a module and give its entry, as the registry would."""
    key = f"lyu2021/{name}"
    figure = PaperFigure(key, about, Settings(), Settings(width=7), compute, claims, draw)
    module = types.ModuleType(f"toy_{name}")
    module.FIGURE = figure
    sys.modules[module.__name__] = module
    return Entry(key, figure.title, module.__name__)
