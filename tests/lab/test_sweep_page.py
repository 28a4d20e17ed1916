"""The page of a sweep in a browser."""

from reluflow.experiment import Experiment
from reluflow.sweep.pictures import draw_sweep
from reluflow.sweep.run import sweep


def test_a_cell_stays_under_the_pointer_and_names_its_commands(chromium, tmp_path):
    """The box above the grid grew when a cell was pointed at, the grid moved down, and the click hit another cell."""
    over = {"scale": "1e-1,1e-2,1e-3", "width": "4,6,8"}
    made = sweep(Experiment("three-points"), over=over, measure=["loss"], executor="serial", out=tmp_path)
    _, page_file = draw_sweep(made)
    page = chromium.new_page()
    try:
        page.goto(page_file.as_uri())
        cell, told = page.locator("rect.cell").nth(4), page.locator("#case")
        cell.scroll_into_view_if_needed()
        before = page.locator("svg").bounding_box()
        cell.hover()
        assert page.locator("svg").bounding_box() == before
        assert told.inner_text().splitlines() == [
            cell.get_attribute("data-words"),
            "reluflow train three-points --width 6 --scale 0.01",
            cell.get_attribute("data-lab"),
        ]
        cell.click()
        page.wait_for_function("document.getElementById('case').textContent.includes('Cop')")
        assert "scale = 0.01, width = 6: loss" in told.inner_text()
        assert "reluflow train three-points --width 6 --scale 0.01" in told.inner_text().splitlines()[1]
    finally:
        page.close()
