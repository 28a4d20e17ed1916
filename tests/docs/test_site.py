"""The documentation as it is read: no formula swallowed as a tag, none left unset, nothing fetched from a server."""

import doctest
import html
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reluflow.formulas import FONT_STYLE
from reluflow.papers.pages import page_name
from reluflow.papers.registry import all_entries

markdown = pytest.importorskip("markdown")
ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SOURCES = sorted(path for path in DOCS.rglob("*.md"))
HTML = """a abbr article aside b blockquote body br button circle code dd del details div dl dt em figcaption figure
footer form g h1 h2 h3 h4 h5 h6 head header hr html i iframe img input kbd label li link main meta nav ol p path pre
rect s script section small span strong style sub summary sup svg table tbody td th thead title tr ul use"""
MATHML = "mtable mtr mtd math mfrac mi mn mo mover mrow mspace msqrt mstyle msub msubsup msup mtext munder munderover"
GREEK = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "eps",
    "eta",
    "theta",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "pi",
    "rho",
    "sigma",
    "tau",
    "phi",
    "psi",
    "omega",
]
KNOWN = {*HTML.split(), *MATHML.split()}
# a name with an index or a power, an inner product, a raised or signed thing of any kind
UNSET = re.compile(
    rf"(?<![\w./-])(?:[A-Za-zα-ω]{{1,2}}|{'|'.join(GREEK)})[_^][A-Za-z0-9{{(+-]|<\w+[_,]|\b(?:sum|prod|int)_|\|\w+\|_"
    r"|\w?\^|<[^\s-]|\(<|\+-|\bint\b|\bexp\(\S"
)


def load_hook(name: str):
    spec = importlib.util.spec_from_file_location(name, DOCS / "hooks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Reader(HTMLParser):
    """What stands on a page: its tags, and its text outside code and mathematics."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.inside, self.quotes = set(), [], [], 0

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.quotes += tag == "blockquote"
        is_name = "doc-object-name" in (dict(attributes).get("class") or "")  # of a method, in its heading
        if tag in ("code", "pre", "script", "style", "math", "svg", "nav", "title") or is_name:
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.text.append(data)


def problems_of(page: str) -> list[str]:
    reader = Reader()
    reader.feed(page)
    found = [f"unknown tag <{tag}>" for tag in sorted(reader.tags - KNOWN)]
    found += ["an example set as a quotation"] * reader.quotes  # `>>>` below the one line of a docstring
    text = " ".join(reader.text)
    found += [f"unset: {text[max(0, m.start() - 20) : m.end() + 30]!r}" for m in UNSET.finditer(text)]
    return found + [f"put aside and lost: {text!r}" for text in reader.text if "\x02" in text or "wzxhzdk" in text]


def rendered(source: str) -> str:
    extension = load_hook("formulas").Formulas()
    names = ["admonition", "attr_list", "md_in_html", "tables", "fenced_code"]
    return markdown.markdown(source, extensions=[*names, extension])


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(DOCS)))
def test_no_source_has_an_unknown_tag_or_an_unset_formula(path):
    """Python-Markdown took `<w, x>` for a tag: "h(x) = sum_j a_j max(0, )" was on the site, and 80 more."""
    assert problems_of(rendered(path.read_text())) == []


CELL = re.compile(r"`[^`]*`|\\\||(\|)")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(DOCS)))
def test_every_row_of_a_table_has_the_cells_of_its_heading(path):
    """The norm in "a_j^2 - |w_j|^2" ended two cells, and the numbers after it stood in wrong columns or were gone."""
    for block in re.findall(r"(?:^\|.*\n)+", path.read_text() + "\n", flags=re.M):
        heading, *rows = [sum(bool(mark) for mark in CELL.findall(row)) for row in block.splitlines()]
        assert all(count == heading for count in rows), block[:200]
        assert re.search(r"\w", block.partition("\n")[0]), f"no heading: {block[:200]}"


def test_the_check_sees_what_it_is_for():
    """Without dollars the inner product is gone and the sum is unset; both are seen."""
    plain = markdown.markdown("h(x) = sum_j a_j max(0, <w, x>)")
    assert any("unknown tag <w" in problem for problem in problems_of(plain))
    assert any("unset" in problem for problem in problems_of(plain))
    assert problems_of(rendered(r"$h(x) = \sum_j a_j \max(0, \langle w, x\rangle)$")) == []
    for left in ("phi(<x, w^→);", "(pi +- theta)", "scale^(2u)", "exp(-nL)", "alpha + int beta u"):
        assert problems_of(f"<p>{left.replace('<', '&lt;')}</p>"), left


def test_an_example_below_one_line_is_code():
    page = rendered("How many.\n\n>>> count([1.0], leak=0.5)\n1\n")
    assert "<pre><code>&gt;&gt;&gt; count([1.0], leak=0.5)\n1</code></pre>" in page
    assert problems_of(page) == []
    assert problems_of(markdown.markdown(">>> 1\n1")) == ["an example set as a quotation"] * 3


def test_parameters_described_together_keep_their_own_types(tmp_path):
    """On the page of the API `max_steps` was a float of default 1e-09, as `rtol` beside it is."""
    griffe = pytest.importorskip("griffe")
    about = ["Parameters", "----------", "rtol, max_steps", "    Tolerance, and how many steps.", '"""']
    lines = [
        "from dataclasses import dataclass",
        "",
        "def run(*, rtol: float = 1e-9, max_steps: int = 5):",
        '    """Run.',
    ]
    lines += [
        "",
        *(f"    {line}" for line in about),
        "",
        "@dataclass(frozen=True)",
        "class Flow:",
        '    """A flow.',
        "",
    ]
    lines += [*(f"    {line}" for line in about), "    rtol: float = 1e-9", "    max_steps: int = 5", ""]
    (tmp_path / "small.py").write_text("\n".join(lines))
    package = griffe.load(
        "small",
        search_paths=[tmp_path],
        docstring_parser="numpy",
        extensions=griffe.load_extensions(load_hook("each_parameter").EachParameter()),
    )
    for name in ("run", "Flow"):
        (section,) = (part for part in package[name].docstring.parsed if part.kind.value == "parameters")
        shown = {item.name: (str(item.annotation), str(item.value)) for item in section.value}
        assert shown == {"rtol": ("float", "1e-09"), "max_steps": ("int", "5")}


def test_tables_code_and_links_are_left_alone():
    page = rendered(
        "| $\\vert w_j\\vert$ | `a_j \\| b` |\n| --- | --- |\n| [x_1](x_1.md) | <b>bold</b> |\n\n    code_here = 1\n"
    )
    assert page.count("<td>") == 2
    assert page.count("<th>") == 2
    assert 'href="x_1.md"' in page
    assert "<b>bold</b>" in page
    assert "code_here" in page
    assert "<math" in page


def test_a_number_of_a_table_stays_on_one_line():
    """A narrow cell broke 1e-5 after the hyphen."""
    page = rendered("| rtol | | |\n| --- | --- | --- |\n| 1e-5 | at 1e-5 or | at most -2e-12 |")
    assert '<td><span class="number">1e-5</span></td>' in page
    assert '<td>at most <span class="number">-2e-12</span></td>' in page
    assert page.count("<span") == 2


def test_a_block_of_formulas_stands_alone():
    page = rendered("and\n\n$$\ndw/dt = a D\nda/dt = \\langle w, D\\rangle\n$$\n\nso")
    assert page.count("<math") == 2
    assert 'class="formulas"' in page


def test_every_figure_has_its_page_and_its_picture():
    index = (DOCS / "reproductions.md").read_text()
    for entry in all_entries():
        name = page_name(entry.key)
        page = (DOCS / "reproductions" / f"{name}.md").read_text()
        assert f"reproductions/{name}.md" in index
        assert f"reluflow reproduce {entry.key}" in page
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page):
            assert (DOCS / "reproductions" / picture).is_file()
            assert (DOCS / "reproductions" / picture).stat().st_size < 600_000


def entries() -> list[str]:
    return re.findall(r"^- `(reluflow\.[\w.]+)`$", (DOCS / "api.md").read_text(), flags=re.M)


@pytest.mark.parametrize("dotted", entries())
def test_every_entry_of_the_reference_has_parameters_returns_and_an_example(dotted):
    """Examples of functions and classes run as doctests of `src`; that of a value, which they do not see, runs here."""
    pytest.importorskip("mkdocs")
    module, _, name = dotted.rpartition(".")
    found = getattr(importlib.import_module(module), name)
    text = load_hook("reference_pages").docstring_of(ROOT / "src", dotted)
    sections = text.splitlines()
    is_function = inspect.isfunction(found)
    if not is_function or inspect.signature(found).parameters:
        assert "Parameters" in sections or "parameters as for" in text
    if is_function or not inspect.isclass(found):
        assert "Returns" in sections
    assert ">>>" in text
    if not is_function and not inspect.isclass(found):
        example = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
        assert doctest.DocTestRunner().run(example).failed == 0


def test_no_two_pages_of_the_reference_share_a_file():
    """Also where the file system does not tell `Keep` from `keep`."""
    names = [dotted.rpartition(".")[2].casefold() for dotted in entries()]
    assert len(names) == len(set(names)) > 60


def test_the_page_of_a_command_has_all_its_options():
    pytest.importorskip("mkdocs")
    from reluflow.cli.main import COMMANDS
    from reluflow.cli.train import command

    pages = {name: load_hook("reference_pages").command_page(name, summary) for name, summary in COMMANDS.items()}
    for parameter in command.params:
        assert parameter.human_readable_name in pages["train"] or max(parameter.opts, key=len) in pages["train"]
    for name, page in pages.items():
        assert page.startswith(f"# reluflow {name}\n")
        assert "- **`--help`**: " in page
        assert problems_of(rendered(page)) == []


@pytest.mark.slow
def test_the_built_site(tmp_path):
    """Strict, without warnings; every page is whole, every link leads somewhere, nothing comes from a server."""
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # an announcement of the theme's authors, not of a page
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=quiet)
    assert run.returncode == 0, run.stderr
    assert "WARNING" not in run.stderr
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 60
    found = {}
    for page in pages:
        text = page.read_text()
        if problems := problems_of(text):
            found[page.name] = problems[:5]
        assert not re.search(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[\"']?https?://", text), page
        for address in re.findall(r'href="?([^"\s>]+)', text):
            target = html.unescape(address).partition("#")[0]
            if target and not re.match(r"[a-z]+:", target) and page.name != "404.html":
                assert (page.parent / target).exists(), (page, target)
    assert found == {}
    assert_the_search_works(tmp_path / "site" / "index.html")
    assert_a_phone_shows_all([page for page in pages if page.name != "404.html"])
    assert_tables_fit_a_window([page for page in pages if page.name != "404.html"])


# What people type, and a page that must be among the first three.
SOUGHT = {
    "extremal vector": "geometry.html",
    "CSV": "your-data.html",
    "cone": "geometry.html",
    "dead neuron": "geometry.html",
    "balanced_initialization": "reference/balanced_initialization.html",
}


@contextmanager
def browser_page(**options):
    """A page of a browser without a window, or a skip where there is none."""
    driver = pytest.importorskip("playwright.sync_api")
    chromium = next((path for path in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if Path(path).exists()), None)
    if chromium is None:
        pytest.skip("no chromium on this machine")
    with driver.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield browser.new_page(**options)
        browser.close()


def assert_the_search_works(home: Path) -> None:
    """From disk, where a browser starts no worker: a word is typed and its pages are found."""
    with browser_page() as page:
        page.goto(home.as_uri())
        page.goto(home.as_uri())
        links = page.locator(".md-search-result__item > a.md-search-result__link")
        for words, wanted in SOUGHT.items():
            found = f'.md-search-result__item > a[href*="h={words.split()[0].lower()}"]'
            for _ in range(20):  # what is typed before the page listens is lost
                page.fill("input.md-search__input", "")
                page.fill("input.md-search__input", words)
                page.wait_for_timeout(3_000)
                if page.locator(found).count():
                    break
            first = [links.nth(place).get_attribute("href") for place in range(min(3, links.count()))]
            assert any(wanted in (link or "") for link in first), (words, first)


def assert_a_phone_shows_all(pages: list[Path]) -> None:
    """At 390 pixels no page is wider than the window: tables and code scroll inside themselves.

    In the tables of coverage the files of the last column broke after any letter, so that its width was a letter's and
    a row took 359 pixels.
    """
    with browser_page(viewport={"width": 390, "height": 844}) as page:
        for path in pages:
            page.goto(path.as_uri(), timeout=120_000)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
            if path.parent.name == "coverage":
                heights = "[...document.querySelectorAll('article tr')].map(row => row.getBoundingClientRect().height)"
                assert max(page.evaluate(heights)) < 200, path


def assert_tables_fit_a_window(pages: list[Path]) -> None:
    """At 1280 pixels no table is cut: what was measured for an erratum stood beyond the edge of the page."""
    cut = "[...document.querySelectorAll('.md-typeset__scrollwrap')].filter(e => e.scrollWidth > e.clientWidth + 1)"
    with browser_page(viewport={"width": 1280, "height": 900}) as page:
        for path in pages:
            page.goto(path.as_uri(), timeout=120_000)
            assert page.evaluate(f"{cut}.length") == 0, path.name


def test_formulas_of_pages_have_a_font_with_mathematical_layout():
    """On Linux no font of the list was there, and exponents floated a line above their base."""
    from reluflow.study.page import document

    fonts = re.findall('"([^"]+)"', FONT_STYLE)
    assert "DejaVu Math TeX Gyre" in fonts
    assert FONT_STYLE in (DOCS / "assets" / "site.css").read_text(encoding="utf-8")
    assert FONT_STYLE in document("title", [], data=None)
