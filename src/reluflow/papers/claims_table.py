"""The claims of many figures as one Markdown document: paper says, we measured, holds or not, why, at what size."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reluflow.data.atomic import replacing
from reluflow.formulas import in_table
from reluflow.papers.claim import Claim, in_words, tallies
from reluflow.papers.figure import Size
from reluflow.papers.registry import papers
from reluflow.papers.reproduction import Reproduction

_VERDICTS = {True: "✓ yes", False: "✗ no", None: "? open"}


def claims_markdown(made: Iterable[Reproduction]) -> str:
    """A Markdown document with one table per paper, one row per claim.

    Examples
    --------
    >>> from reluflow.papers.figure import Size
    >>> claim = Claim.below("the loss stays small", 0.01, 0.03, source="Fig. 1, caption")
    >>> item = Reproduction("lyu2021/fig1", "Figure 1", "", Size.QUICK, {}, claims=(claim,), computing_seconds=2.0)
    >>> print(claims_markdown([item]).splitlines()[-1])
    | `fig1` | the loss stays small | Fig. 1, caption | 0.01 | at most 0.03 | ✓ yes |  | quick, 2.0 s |
    """
    items = tuple(made)
    lines = [_opening(items)]
    for paper, words in papers().items():
        chosen = [item for item in items if item.key.startswith(f"{paper}/")]
        if not chosen:
            continue
        lines += ["", f"## {words} [{paper}]", ""]
        lines += ["| figure | statement | source | measured | expected | holds | why | run |", "| --- " * 8 + "|"]
        for item in chosen:
            size = f"{item.size}, {_seconds(item.computing_seconds)}"
            name = f"`{item.key.partition('/')[2]}`"
            if item.problem:
                lines.append(_row(name, "", "", "", "", "not made", item.problem, size))
            lines += [_claim_row(name, claim, size) for claim in item.claims]
    return "\n".join(lines) + "\n"


def write_claims_table(made: Iterable[Reproduction], path: Path) -> Path:
    """Write `claims_markdown` to a file, complete or not at all."""
    text = claims_markdown(made)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as handle:
        handle.write(text.encode())
    return path


def _opening(items: tuple[Reproduction, ...]) -> str:
    papers_own, ours = tallies(claim for item in items for claim in item.claims)
    quick = [item.key for item in items if item.size is Size.QUICK]
    sizes = (
        "Everything was run at full size." if not quick else f"At quick size, as their rows say: {', '.join(quick)}."
    )
    if len(quick) == len(items):
        sizes = "Everything was run at quick size."
    return (
        "# Reproductions\n\n"
        f"The papers make {papers_own.total} statements on {len(items)} figures and tables: {papers_own.holding} hold, "
        f"{papers_own.failing} do not ({papers_own.known} of these known and explained) and {papers_own.undecided} are "
        f"open at the size run. Beside them stand {ours.total} statements of ours, of which {ours.holding} hold. "
        f"{sizes} `reluflow reproduce --all --full --table FILE.md` writes this page."
    )


def _claim_row(name: str, claim: Claim, size: str) -> str:
    verdict = _VERDICTS[claim.holds] + (" (known)" if claim.finding and claim.holds is False else "")
    return _row(
        name,
        claim.text,
        claim.source,
        in_words(claim.measured),
        in_words(claim.expected),
        verdict,
        claim.why,
        size,
    )


def _row(*cells: str) -> str:
    return "| " + " | ".join(in_table(cell) for cell in cells) + " |"


def _seconds(seconds: float) -> str:
    if seconds < 0.05:
        return "from another figure's run"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
