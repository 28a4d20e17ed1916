"""The run of a study as the page that plays: the one of `trajectory.to_html()`, inside the report and beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from reluflow.after_run import Stage
from reluflow.study.flow_summary import FlowSummary
from reluflow.study.page import escape

MOST_CHARACTERS = 6_000_000  # of a page inside a report; a longer one stands beside it only


@dataclass(frozen=True)
class PlayingPage:
    """The run as one self-contained page, or why there is none.

    Parameters
    ----------
    text
        The page; empty where none could be made.
    why
        Why there is none, as a sentence.
    """

    text: str = ""
    why: str = ""


@lru_cache(maxsize=1)  # a report is written again and again while it grows, and this part of it takes longest
def playing_page(flow: FlowSummary) -> PlayingPage:
    """The page of a run; a failure is told and leaves the report with its still pictures."""
    with Stage("Writing the page of the run") as writing:
        return PlayingPage(flow.trajectory.to_html(limit=flow.limit, states=flow.frames))
    return PlayingPage(why=writing.failure)


def playing_part(flow: FlowSummary, file: str, *, is_growing: bool) -> str:
    """The page that plays as a part of the report, or where to find it.

    Parameters
    ----------
    flow
        The run.
    file
        Name of the page beside the report; empty where it was not written.
    is_growing
        Whether the report is read again every few seconds, which would start the run anew each time.
    """
    page = playing_page(flow)
    beside = f'<a href="{escape(file)}">{escape(file)}</a>'
    if page.why:
        return (
            f'<p class="playing-words">The run stands still here, in the pictures below. {escape(page.why)} '
            "<code>trajectory.to_html()</code> in Python makes the page of any run.</p>"
        )
    if is_growing:
        words = f"The run plays in {beside} already, and here" if file else "The run plays here"
        return f'<p class="playing-words">{words} when the study is done.</p>'
    if len(page.text) > MOST_CHARACTERS:
        size = f"with {len(page.text) / 1e6:.2g} MB it is too large to stand in this report"
        where = f"in {beside}" if file else "in the page that <code>trajectory.to_html()</code> writes in Python"
        return f'<p class="playing-words">The run plays {where}; {size}. The pictures below stand still.</p>'
    alone = f" The same page by itself: {beside}, beside this report." if file else ""
    # inside the attribute the two characters that could end it or begin another are enough
    source = page.text.replace("&", "&amp;").replace('"', "&quot;")
    return (
        '<div class="playing"><iframe title="The run, playing: neurons, function and loss over one slider" '
        f'loading="lazy" sandbox="allow-scripts" srcdoc="{source}"></iframe>'
        f"<p>Press &#9654; or move the slider; click a neuron to read why it went where it went.{alone}</p></div>"
    )
