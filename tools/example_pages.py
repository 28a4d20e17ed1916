"""Write the gallery and the pages of the notebooks: run everything in `examples/`, keep text, code and output.

Run from the root of a clone after a change in `examples/`:

    python tools/example_pages.py

It writes `docs/gallery.md`, `docs/gallery/`, `docs/notebooks.md` and `docs/notebooks/`. Tests compare the code on these
pages with the files.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES, DOCS = ROOT / "examples", ROOT / "docs"
ORDER = (  # from the picture that needs no training to the many runs; others follow
    "moving_picture", "three_points", "cones_and_basins", "sphere_of_directions", "phases", "staircase",
    "certified_margin", "network_from_elsewhere", "conditions_of_a_dataset", "learning_rates", "scales_and_seeds",
)  # fmt: skip
PICTURES = {".png", ".gif"}
GALLERY_HEAD = """# Gallery

Short scripts and the pictures they write. Each runs in a few seconds; copy it, change a line, run it again. The files
are in `examples/`, the tests run them, and `tools/example_pages.py` writes this page.
"""
NOTEBOOKS_HEAD = """# Notebooks

The files are in `examples/`, stored without outputs; the pages below show them with what they gave. The tests
run every cell.
"""


def main() -> None:
    """Write all pages."""
    (DOCS / "gallery").mkdir(exist_ok=True)
    (DOCS / "notebooks").mkdir(exist_ok=True)
    scripts = sorted(EXAMPLES.glob("*.py"), key=lambda path: (rank(path.stem), path.stem))
    shown = [show_script(path) for path in scripts]
    cards = "\n".join(card for card, _ in shown)
    page = [GALLERY_HEAD, f'<div class="gallery" markdown>\n\n{cards}\n</div>\n', *(section for _, section in shown)]
    (DOCS / "gallery.md").write_text("\n".join(page))
    titles = [show_notebook(path) for path in sorted(EXAMPLES.glob("*.ipynb"))]
    (DOCS / "notebooks.md").write_text(NOTEBOOKS_HEAD + "\n" + "".join(titles))


def rank(name: str) -> int:
    """Where an example stands in the gallery."""
    return ORDER.index(name) if name in ORDER else len(ORDER)


def show_script(path: Path) -> tuple[str, str]:
    """The card and the section of a script, which is run; its pictures are kept."""
    source = path.read_text()
    about = ast.get_docstring(ast.parse(source)) or ""
    title = path.stem.replace("_", " ").capitalize()
    code = source.split('"""', 2)[2].strip()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        said = run(source, {"__name__": "__main__"})
        pictures = sorted(file for file in Path(folder).iterdir() if file.suffix in PICTURES)
        for picture in pictures:
            keep(picture, DOCS / "gallery" / picture.name)
    shown = "\n".join(f"![{title}](gallery/{picture.name})\n" for picture in pictures)
    card = f'<div class="card" markdown>\n\n[![{title}](gallery/{pictures[0].name})](#{anchor(title)})\n\n'
    card += f"**[{title}](#{anchor(title)})** {about}\n\n</div>\n"
    printed = f"It prints\n\n```text\n{said.strip()}\n```\n" if said.strip() else ""
    section = f"## {title}\n\n{about}\n\n{shown}\n`examples/{path.name}`\n\n```python\n{code}\n```\n\n{printed}"
    return card, section


def show_notebook(path: Path) -> str:
    """Write the page of a notebook; its line in the list of them."""
    cells = json.loads(path.read_text())["cells"]
    names: dict[str, Any] = {}
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for place, cell in enumerate(cells):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                lines.append(source + "\n")
                continue
            lines.append(f"```python\n{source}\n```\n")
            lines += outputs(source, names, f"{path.stem}-{place}")
    title = re.match(r"# (.*)", "".join(cells[0]["source"]))
    assert title is not None, f"{path.name} must begin with a heading"
    lines.insert(1, f"*The notebook is `examples/{path.name}`.*\n")
    (DOCS / "notebooks" / f"{path.stem}.md").write_text("\n".join(lines))
    about = "".join(cells[0]["source"]).partition("\n\n")[2].replace("\n", " ")
    return f"- **[{title[1]}](notebooks/{path.stem}.md)** {about}\n"


def outputs(source: str, names: dict[str, Any], name: str) -> list[str]:
    """What a cell prints, and the value of its last expression as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said = run(compile(tree, name, "exec"), names)
    lines = [f"```text\n{said.strip()}\n```\n"] if said.strip() else []
    if last is None:
        return lines
    value = eval(compile(ast.Expression(last.value), name, "eval"), names)
    if hasattr(value, "savefig"):
        file = Path(f"{name}.png")
        value.savefig(file, dpi=110)
        keep(file, DOCS / "notebooks" / file.name)
        lines.append(f"![Output]({file.name})\n")
    elif value is not None:
        lines.append(f"```text\n{value!r}\n```\n")
    return lines


def run(source: Any, names: dict[str, Any]) -> str:
    """Run code and give what it prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(source, names)
    return said.getvalue()


def keep(picture: Path, place: Path) -> None:
    """A picture in few colours; a GIF as it is."""
    if picture.suffix == ".png":
        from reluflow.viz.saving import reduced_png

        place.write_bytes(reduced_png(picture, colours=128))
    else:
        place.write_bytes(picture.read_bytes())


def anchor(title: str) -> str:
    """As the site makes the address of a heading."""
    return re.sub(r"[^\w]+", "-", title.lower()).strip("-")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    main()
