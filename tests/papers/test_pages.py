"""A page per figure: picture, statements beside measurements, command; and the index that leads to it."""

from dataclasses import replace

from PIL import Image

from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import Size
from reluflow.papers.pages import write_pages
from reluflow.papers.reproduction import Reproduction, read_record


def made(tmp_path, size=Size.FULL, files=()):
    claims = (
        Claim.below("the loss |w_j| falls", 0.01, 0.03, source="Sec. 3"),
        Claim.below("and follows the exact flow", 0.5, 0.03, finding=True, why="It does not.", source=OURS),
    )
    return Reproduction(
        "lyu2021/fig1", "Figure 1: a title", "What it shows.", size, {"width": 3}, files, claims, computing_seconds=90.0
    )


def test_a_page_says_all_there_is(tmp_path):
    picture = tmp_path / "fig1.png"
    Image.new("RGB", (40, 30), "white").save(picture)
    written = write_pages([made(tmp_path, files=(picture,))], tmp_path / "pages")
    assert [path.name for path in written] == ["lyu2021-fig1.md", "pages.md"]
    page = written[0].read_text()
    assert "[![Figure 1: a title](lyu2021-fig1.png)](lyu2021-fig1.png)" in page, "the picture opens at its own size"
    assert (tmp_path / "pages" / "lyu2021-fig1.png").is_file()
    assert "| ✓ | the loss \\|w_j\\| falls | Sec. 3 | at most 0.03 | 0.01 |" in page
    assert "*Why: It does not.* | ours |" in page
    assert "The paper's one statement holds; of 1 of ours 1 does not." in page
    assert "reluflow reproduce lyu2021/fig1 --full" in page
    assert "full size in 90.0 s of one core's time" in page
    assert "(pages/lyu2021-fig1.md)" in written[1].read_text()


def test_what_is_said_of_a_statement_that_holds_is_a_note(tmp_path):
    """Beside "no run diverges", which holds, stood "Why: some draws overflow in a few steps"."""
    claim = Claim.below("no run diverges", 0, 0, why="At the edge of stability.", source=OURS)
    (page, _) = write_pages([replace(made(tmp_path), claims=(claim,))], tmp_path / "pages")
    assert "| ✓ | no run diverges *Note: At the edge of stability.* |" in page.read_text()


def test_a_gpu_is_not_passed_over(tmp_path):
    """Minutes beside a GPU are hours of a core: the page said the first without the second."""
    (page, _) = write_pages([replace(made(tmp_path), device="gpu (NVIDIA H200)")], tmp_path / "pages")
    assert "in 90.0 s of one core's time, beside gpu (NVIDIA H200)." in page.read_text()


def test_a_picture_of_another_size_says_so(tmp_path):
    picture = tmp_path / "fig1.png"
    Image.new("RGB", (40, 30), "white").save(picture)
    mixed = replace(made(tmp_path, files=(picture,)), picture_size=Size.QUICK)
    written = write_pages([mixed], tmp_path / "pages")
    assert "Drawn by reluflow at quick size.* *The numbers below are from a run at full size." in written[0].read_text()
    assert "; of lyu2021/fig1 only the picture is at quick size." in written[1].read_text()
    (kept,) = read_record(tmp_path / "pages")
    assert (kept.picture_size, kept.files) == (Size.QUICK, (tmp_path / "pages" / "lyu2021-fig1.png",))
    write_pages([kept], tmp_path / "pages")  # its picture is there under its own name
    assert read_record(tmp_path / "pages") == (kept,)


def test_one_figure_made_again_leaves_the_others_in_the_index(tmp_path):
    """The index was written from the folder of --out alone: one figure made again lost the 47 others."""
    folder = tmp_path / "pages"
    other = replace(made(tmp_path), key="lyu2021/fig2", title="Figure 2: another")
    write_pages([made(tmp_path, Size.QUICK), other], folder)
    untouched = (folder / "lyu2021-fig2.md").stat().st_mtime_ns
    written = write_pages([made(tmp_path)], folder)
    assert [path.name for path in written] == ["lyu2021-fig1.md", "pages.md"]
    index = (tmp_path / "pages.md").read_text()
    assert "The papers make 2 statements on these 2 figures and tables: 2 hold, 0 do not" in index
    assert "Beside them stand 2 statements of ours, checks and sharper forms, of which 0 hold." in index
    assert "Figure 1](pages/lyu2021-fig1.md)** a title *(1 holds; ours: 1 does not; full)*" in index
    assert "Figure 2](pages/lyu2021-fig2.md)" in index
    assert (folder / "lyu2021-fig2.md").stat().st_mtime_ns == untouched


def test_a_full_size_that_is_not_the_papers_says_so(tmp_path):
    """Figures with dimensions up to 64 of the paper's 1,024 were called "full size" and nothing more."""
    item = replace(made(tmp_path), reduced="dimension 64 where the paper has 1,024")
    page, index = write_pages([item], tmp_path / "pages")
    assert "Computed at full size (dimension 64 where the paper has 1,024) in 90.0 s" in page.read_text()
    assert "; full, smaller than the paper)*" in index.read_text()
    assert read_record(tmp_path / "pages")[0].reduced == item.reduced
