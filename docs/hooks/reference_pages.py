"""The pages of the reference: one per name listed in `api.md` and one per command, made while the site is built.

`api.md` lists dotted names under headings; each becomes a page `reference/<name>.md`, and its line on `api.md` a row
with the first sentence of its docstring. The pages of commands come from the declarations of their options.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
from mkdocs.structure.files import File

_ENTRY = re.compile(r"^- `(reluflow\.[\w.]+)`$")
_ENTRIES = re.compile(r"(?:^- `reluflow\.[\w.]+`\n?)+", re.MULTILINE)


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Heading and dotted name of every entry of the text of `api.md`."""
    heading = ""
    for line in text.splitlines():
        heading = line.removeprefix("## ") if line.startswith("## ") else heading
        if found := _ENTRY.match(line):
            yield heading, found[1]


def page_of(dotted: str) -> str:
    """Address of the page of a name, relative to the folder of the documentation."""
    return f"reference/{dotted.rpartition('.')[2]}.md"


def on_config(config: Any) -> Any:
    """Put the pages below the entries "Python" and "Commands" of the section Reference."""
    from reluflow.cli.main import COMMANDS

    sections: dict[str, list[dict[str, str]]] = {}
    for heading, dotted in entries((Path(config.docs_dir) / "api.md").read_text()):
        sections.setdefault(heading, []).append({dotted.rpartition(".")[2]: page_of(dotted)})
    reference = next(section["Reference"] for section in config.nav if "Reference" in section)
    for place, entry in enumerate(reference):
        if "Python" in entry:
            reference[place] = {"Python": ["api.md", *({name: pages} for name, pages in sections.items())]}
        if "Commands" in entry:
            reference[place] = {"Commands": ["commands.md", *({name: f"commands/{name}.md"} for name in COMMANDS)]}
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Make the pages."""
    from reluflow.cli.main import COMMANDS

    for _, dotted in entries((Path(config.docs_dir) / "api.md").read_text()):
        files.append(File.generated(config, page_of(dotted), content=name_page(dotted)))
    for name, summary in COMMANDS.items():
        files.append(File.generated(config, f"commands/{name}.md", content=command_page(name, summary)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Turn the lists of names into tables with links."""
    if page.file.src_uri != "api.md":
        return markdown
    sources = Path(config.docs_dir).parent / "src"

    def table(found: re.Match[str]) -> str:
        rows = ["| name | what it is |", "| --- | --- |"]
        for _, dotted in entries(found[0]):
            name = dotted.rpartition(".")[2]
            rows.append(f"| [`{name}`]({page_of(dotted)}) | {first_sentence(sources, dotted)} |")
        return "\n".join(rows) + "\n"

    return _ENTRIES.sub(table, markdown)


def docstring_of(sources: Path, dotted: str) -> str:
    """The docstring of a class or a function, or the text below a value, read without importing."""
    module, _, name = dotted.rpartition(".")
    body = ast.parse((sources / (module.replace(".", "/") + ".py")).read_text()).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return ast.get_docstring(node) or ""
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            return inspect.cleandoc(str(following.value.value)) if is_text else ""
    raise ValueError(f"`{dotted}` of api.md must name a class, a function or a value of its module.")


@cache
def first_sentence(sources: Path, dotted: str) -> str:
    """The first paragraph of a docstring, as a cell of a table."""
    return docstring_of(sources, dotted).partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def name_page(dotted: str) -> str:
    """The page of a name: how it is imported, then what its docstring holds."""
    import reluflow

    module, _, name = dotted.rpartition(".")
    package = "reluflow" if name in reluflow.__all__ else module
    options = "    options:\n      heading: Signature\n      heading_level: 2"
    return f"# `{name}`\n\n```python\nfrom {package} import {name}\n```\n\n::: {dotted}\n{options}\n"


def command_page(name: str, summary: str) -> str:
    """Usage, description and options of a command, from its declaration."""
    command: click.Command = importlib.import_module(f"reluflow.cli.{name.replace('-', '_')}").command
    context = click.Context(command, info_name=f"reluflow {name}")
    usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    lines = [f"# reluflow {name}", "", summary, "", "```text", usage, "```", ""]
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        words = " ".join(paragraph.split())
        example = re.fullmatch(r"Example: (reluflow .*)", words)
        lines += ["```sh", example[1], "```", ""] if example else [_prose(words), ""]
    lines += ["## Arguments and options", ""]
    for parameter in command.get_params(context):
        if (record := parameter.get_help_record(context)) is not None:
            spelled, meaning = record
            lines.append(f"- **`{' '.join(spelled.split())}`**: {_prose(' '.join(meaning.split()))}")
    return "\n".join(lines) + "\n"


def _prose(text: str) -> str:
    """Text for Markdown: what looks like a tag or an emphasis stands for itself."""
    parts = re.split(r"(`[^`]*`)", re.sub(r"\[([\dx<>=]+)\]$", r"`\1`", text))
    return "".join(p if p.startswith("`") else re.sub(r"([*_])", r"\\\1", p.replace("<", "&lt;")) for p in parts)
