"""An experiment as the address of the laboratory: the part after #, `v=1&name=three-points&width=20`."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from reluflow.errors import InvalidInputError

LINK_VERSION = 1
LINK_DEFAULTS = {"data": "three-points", "loss": "square", "width": "60", "lr": "0.01", "iterations": "20000"}
_OTHER_PARTS = ("ghost.", "held.", "view.")  # of the page: a second run, samples held out, and where one looks
_NAME = "name"  # what a link calls the data


def link_text(texts: Mapping[str, str]) -> str:
    """The link of an experiment from the texts of its fields; an empty text stands for a field that is left open.

    >>> link_text({"data": "linear-teacher:n=6", "width": "20"})
    '#v=1&name=linear-teacher:n=6&width=20'
    """
    words = {_NAME if name == "data" else name: text for name, text in texts.items()}
    return "#" + urlencode({"v": LINK_VERSION, **words}, safe=":,;=")


def read_link(link: str) -> dict[str, str]:
    """The texts of the fields that a link gives, whole or from # on; what it leaves out is as in `LINK_DEFAULTS`."""
    _, mark, fragment = link.partition("#")
    pairs = parse_qsl(fragment, keep_blank_values=True)
    words = dict(pairs)
    if not mark or len(words) < len(pairs):
        raise InvalidInputError(f"`{link[:80]}` must be a link with its state after #, every field once.")
    version = words.pop("v", None)
    if version != str(LINK_VERSION):
        raise InvalidInputError(f"`{link[:80]}` must be a link of version {LINK_VERSION}, got {version!r}.")
    run = {name: text for name, text in words.items() if not name.startswith(_OTHER_PARTS)}
    named = {"data": run.pop(_NAME)} if _NAME in run else {}
    return {**LINK_DEFAULTS, **named, **run}
