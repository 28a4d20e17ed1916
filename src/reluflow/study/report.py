"""report.html: one file, no network needed, complete without JavaScript, with the numbers inside as JSON."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import reluflow
from reluflow.certificates.network_margin import linear_network_margin
from reluflow.data.atomic import replacing
from reluflow.formulas import as_html
from reluflow.study.export import as_json
from reluflow.study.page import Mark, Typeset, document, escape, figure, number, paragraphs, section, table, vector
from reluflow.study.pictures import Picture
from reluflow.study.playing import playing_part
from reluflow.study.scale_advice import power_of_ten
from reluflow.study.verdicts import TheoremAnswer
from reluflow.study.whole_study import Study
from reluflow.theory.comparison import Source
from reluflow.viz.class_regions import confusion_counts

MOST_VECTORS = 50
MOST_CLASSES = 20  # in a table


def write_report(
    found: Study, pictures: Sequence[Picture], path: Path, *, command: str, laboratory: str = "", page: str = ""
) -> Path:
    """Write the self-contained report of a study.

    Parameters
    ----------
    found
        The study.
    pictures
        PNG files to embed.
    path
        Where the report goes; an existing file is replaced only by a complete one.
    command
        The exact command that reproduces it.
    laboratory
        The command that opens the data in the laboratory.
    page
        Name of the page that plays beside the report, to be linked; the report plays the run itself, too.
    """
    by_name = {picture.name: picture for picture in pictures}

    def show(*names: str) -> str:
        return "".join(figure(by_name[n].path, by_name[n].caption) for n in names if n in by_name)

    learnt = [name for name in ("function", "dataset") if name in by_name]  # the function is drawn with its data
    sections = [
        ("run", "The run", _run(found, show, page)),
        ("end", "Where it ends", show("confusion") + _end(found)),
        ("theorems", "Theorems", _theorems(found)),
        ("sensitivity", "Other draws, other scales", _sensitivity(found)),
        ("geometry", "The geometry of the data", show(*learnt[1:], "geometry") + _extremal(found)),
        ("assumptions", "Assumptions", show("conditions") + _assumptions(found)),
        ("reproduce", "To reproduce", _reproduce(command, laboratory)),
    ]
    shown = [(name, title, content) for name, title, content in sections if content]
    title = f"reluflow study: {found.dataset.name}"
    links = "".join(f'<li><a href="#{name}">{escape(words)}</a></li>' for name, words, _ in shown)
    body = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p><strong>Note: {escape(words)}.</strong></p>" for words in found.notes),
        *_pending(found),
        f'<div class="summary"><p><strong>In short.</strong></p>{paragraphs(found.verdict())}</div>',
        _cut_short(found),
        show(*learnt[:1]),
        f"<p>Open in the laboratory: <code>{escape(laboratory)}</code></p>" if laboratory else "",
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>',
        section("summary", "Findings", paragraphs(found.sentences())),
        *(section(name, words, content) for name, words, content in shown),
    ]
    with replacing(path) as stream:
        stream.write(document(title, body, data=as_json(found), is_growing=bool(found.pending)).encode())
    return path


def _pending(found: Study) -> list[str]:
    """What is still to come, on a page that is written while the study goes on."""
    if not found.pending:
        return []
    words = f"This study is under way. Still to come: {'; '.join(found.pending)}."
    return [f'<p role="status"><strong>{escape(words)}</strong></p>']


def _cut_short(found: Study) -> str:
    """The parts that a limit on time or work cut short."""
    if not found.cuts:
        return ""
    rows = [(part.part, part.limit, part.missing) for part in found.cuts]
    return table(("cut short", "limit", "what is missing"), rows, label="Parts cut short")


def _run(found: Study, show: Callable[..., str], page: str) -> str:
    if found.flow is None:
        return ""
    phases = table(
        ("phase", "from", "to"),
        [(p.name, number(p.start), number(p.end)) for p in found.flow.trajectory.phases],
        label="Phases of the run",
    )
    playing = playing_part(found.flow, page, is_growing=bool(found.pending))
    return playing + show("neurons", "loss") + phases + show("norms")


def _end(found: Study) -> str:
    if found.flow is None:
        return ""
    certificate = found.flow.limit.certificate
    rows = [
        ("kind", str(certificate.kind)),
        ("proved", "yes" if found.flow.limit.is_proof else "no"),
        ("how", found.flow.limit.reason),
        ("loss", number(found.flow.trajectory.loss)),
        ("margin", number(certificate.margin)),
        ("margin of the best linear function, written as a network", number(_linear_margin(found))),
        ("margin of the best network found", number(certificate.global_margin)),
        ("no network has a margin above", number(certificate.margin_bound)),
        *((f"residual: {name.replace('_', ' ')}", number(value)) for name, value in certificate.residuals.items()),
        *(("because", reason) for reason in certificate.reasons),
    ]
    has_signs = found.dataset.num_outputs == 1
    groups = table(
        (
            "group",
            "sign of a" if has_signs else "pushes the outputs along",
            "neurons",
            "share of the weight",
            "active samples",
            "direction",
        ),
        [
            (
                g.name,
                {1: "+", -1: "-", 0: "both"}[g.sign] if has_signs else "-" if g.output is None else vector(g.output),
                str(g.size),
                f"{g.share:.3%}",
                "-" if g.num_active is None else str(g.num_active),
                "-" if g.direction is None else vector(g.direction),
            )
            for g in found.groups
        ],
        label="Where the neurons went",
    )
    words = [row for row in rows if row[1] != "-"]
    return (
        table(("quantity", "value"), words, label="Certificate of the end point")
        + _confusion(found)
        + "<h3>Where the neurons went</h3>"
        + groups
    )


def _confusion(found: Study) -> str:
    """How many samples of each class have the largest output at each."""
    names = found.dataset.classes
    if names is None or found.flow is None or len(names) > MOST_CLASSES:
        return ""
    counts = confusion_counts(found.dataset, found.flow.trajectory.predictions)
    sizes = np.bincount(found.dataset.y.astype(np.int64), minlength=len(names))
    rows = [
        (name, *(str(count) for count in row), str(size - int(row.sum())))
        for name, row, size in zip(names, counts, sizes, strict=True)
    ]
    header = ("class", *names, "shared")
    return "<h3>Classes and largest outputs</h3>" + table(
        header, rows, label="Class (rows) and largest output (columns)"
    )


def _linear_margin(found: Study) -> float:
    assert found.flow is not None
    return linear_network_margin(found.flow.limit.certificate.best_linear_margin, found.leak)


def _theorems(found: Study) -> str:
    if not found.answers:
        return ""
    advice = ""
    if found.advice:
        rows = [
            (
                a.theorem,
                "names none" if a.log_asked is None else power_of_ten(a.log_asked),
                "as in this run" if a.log_shown is None else power_of_ten(a.log_shown),
                power_of_ten(a.log_used),
                Mark(a.is_met),
            )
            for a in found.advice
        ]
        names = ("theorem", "asks for a size of at most", "checked at", "used in this run", "met")
        advice = "<h3>How small must the start be?</h3>" + table(names, rows, label="Scales")
    answered = [a for a in found.answers if a.is_applicable or a.word == "inconclusive"]
    silent = [a for a in found.answers if a not in answered]
    verdicts = (
        _answers(answered, "Verdicts") if answered else "<p>None of the theorems checked applies to these data.</p>"
    )
    details = "".join(_details(a) for a in found.answers if a.is_applicable)
    folded = f"Theorems that do not apply, or could not be checked, and why: {len(silent)}"
    rest = f"<details><summary>{folded}</summary>{_answers(silent, folded)}</details>" if silent else ""
    return verdicts + advice + details + rest


def _answers(answers: Sequence[TheoremAnswer], label: str) -> str:
    rows = [
        (
            a.theorem.key,
            Mark(_as_answer(a), a.word),
            Typeset(f"{a.theorem.statement} {a.sentence[:1].upper()}{a.sentence[1:]}"),
        )
        for a in answers
    ]
    return table(("theorem", "verdict", "statement and reason"), rows, label=label)


def _as_answer(answer: TheoremAnswer) -> bool | None:
    return {"holds": True, "fails": False}.get(answer.word)


def _details(answer: TheoremAnswer) -> str:
    verdict = answer.verdict
    if verdict is None:
        return ""
    hypotheses = table(
        ("hypothesis", "holds", "margin", "measured"),
        [(h.name, Mark(h.holds), number(h.margin), Typeset(f"{h.statement}: {h.detail}")) for h in verdict.hypotheses],
        label=f"Hypotheses of {answer.theorem.key}",
    )
    conclusions = table(
        ("conclusion", "whose", "holds", "measured", "bound", "slack", "in words"),
        [
            (
                c.name,
                "the paper's" if c.source is Source.PAPER else "ours, decides nothing",
                Mark(c.holds),
                number(c.measured),
                number(c.bound),
                number(c.slack),
                Typeset(f"{c.statement}: {c.detail}"),
            )
            for c in verdict.conclusions
        ],
        label=f"Conclusions of {answer.theorem.key}",
    )
    erratum = f"<p>Erratum {as_html(answer.theorem.erratum)}</p>" if answer.theorem.erratum else ""
    return (
        f"<details><summary>{escape(answer.theorem.key)} in full</summary>{hypotheses}{conclusions}{erratum}</details>"
    )


def _sensitivity(found: Study) -> str:
    rows = [
        (
            v.scale,
            str(v.seed),
            v.outcome,
            v.kind,
            number(v.loss),
            number(v.margin),
            str(v.num_bundles),
            number(v.difference),
            Mark(v.ends_in_same_function),
        )
        for v in found.variations
    ]
    header = ("scale", "seed", "outcome", "end point", "loss", "margin", "bundles", "difference", "same function")
    return table(header, rows, label="Other draws and scales") if rows else ""


def _extremal(found: Study) -> str:
    extremal = found.extremal
    if extremal is None or len(extremal) == 0:
        return ""
    rows = [
        (vector(v), number(norm), kind, f"{int(side):+d}", _short("".join("-0+"[int(u) + 1] for u in pattern)))
        for v, norm, kind, side, pattern in zip(
            extremal.vectors[:MOST_VECTORS],
            extremal.norms[:MOST_VECTORS],
            extremal.kinds[:MOST_VECTORS],
            extremal.sides[:MOST_VECTORS],
            extremal.patterns[:MOST_VECTORS],
            strict=True,
        )
    ]
    return "<h3>Extremal vectors</h3>" + table(("D", "|D|", "kind", "side", "pattern"), rows, label="Extremal vectors")


def _assumptions(found: Study) -> str:
    if found.diagnosis is None:
        return ""
    conditions = found.diagnosis.conditions
    header = ("condition", "paper", "holds", "margin", "measured")

    def rows(*answers: bool | None) -> list[tuple[str, str, Mark, str, Typeset]]:
        return [
            (c.key, c.paper, Mark(c.holds), number(c.margin), Typeset(f"{c.statement}; {c.detail}"))
            for c in conditions
            if c.holds in answers and not c.is_for_other_labels
        ]

    others = rows(False, None)
    words = f"{len(others)} more that do not hold, or are not decided here"
    if elsewhere := [c.key for c in conditions if c.is_for_other_labels]:
        words += f" ({len(elsewhere)} speak of other labels)"
    folded = f"<details><summary>{words}</summary>{table(header, others, label=words)}</details>" if others else ""
    return table(header, rows(True), label="Assumptions that hold, and their margins") + folded


def _reproduce(command: str, laboratory: str) -> str:
    versions = f"reluflow {reluflow.__version__}, NumPy {np.__version__}, Python {platform.python_version()}."
    lines = "\n".join(line for line in (command, laboratory) if line)
    return f"<pre>{escape(lines)}</pre><p>{escape(versions)}</p>"


def _short(pattern: str) -> str:
    return pattern if len(pattern) <= 40 else pattern[:37] + "..."
