"""A page per figure: picture, statements beside measurements, command; and the index that leads to it."""

from PIL import Image

from reluflow.papers.claim import Claim
from reluflow.papers.figure import Size
from reluflow.papers.pages import write_pages
from reluflow.papers.reproduction import Reproduction


def made(tmp_path, size=Size.FULL, files=()):
    claims = (
        Claim.below("the loss |w_j| falls", 0.01, 0.03),
        Claim.below("and follows the exact flow", 0.5, 0.03, finding=True, why="It does not.", ours=True),
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
    assert "![Figure 1: a title](lyu2021-fig1.png)" in page
    assert (tmp_path / "pages" / "lyu2021-fig1.png").is_file()
    assert "| ✓ | the loss \\|w_j\\| falls | at most 0.03 | 0.01 |" in page
    assert "*(ours)* *Why: It does not.*" in page
    assert "Of 2 statements 1 hold, 1 do not." in page
    assert "reluflow reproduce lyu2021/fig1 --full" in page
    assert "full size in 90.0 s" in page
    assert "(pages/lyu2021-fig1.md)" in written[1].read_text()


def test_a_picture_of_another_size_says_so(tmp_path):
    picture = tmp_path / "fig1.png"
    Image.new("RGB", (40, 30), "white").save(picture)
    quick = made(tmp_path, Size.QUICK, (picture,))
    written = write_pages([made(tmp_path)], tmp_path / "pages", drawn={"lyu2021/fig1": quick})
    assert "Drawn by reluflow at quick size.* *The numbers below are from a run at full size." in written[0].read_text()
