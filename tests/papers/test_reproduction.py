"""One figure that fails does not lose the others; what was made is written and read back."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from papers import toy_figures as toys
from reluflow.errors import InvalidInputError, MissingExtraError
from reluflow.papers.claims_table import claims_markdown
from reluflow.papers.figure import Size
from reluflow.papers.registry import load_figure
from reluflow.papers.reproduction import (
    add_to_record,
    merged,
    read_record,
    reproduce,
    reproduce_all,
    write_record,
)
from reluflow.papers.store import ResultStore


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path / "kept")


def test_a_figure_is_computed_once_and_drawn_each_time(tmp_path, store):
    figure = load_figure(toys.toy_entry("fig90"))
    toys.computed.clear()
    first = reproduce(figure, Size.QUICK, tmp_path / "out", store=store)
    first.files[0].unlink()
    again = reproduce(figure, Size.QUICK, tmp_path / "out", store=store)
    assert toys.computed == ["lyu2021/fig90"]
    assert again.files[0].is_file()
    assert again.claims == first.claims
    assert again.computing_seconds == first.computing_seconds
    assert again.settings == {"width": 3, "words": toys.ODD}
    assert again.files[0].parent == tmp_path / "out" / "lyu2021"
    reproduce(figure, Size.FULL, tmp_path / "out", store=store)
    reproduce(figure, Size.QUICK, tmp_path / "out", store=store, is_fresh=True)
    reproduce(figure, Size.QUICK, tmp_path / "out")
    assert toys.computed == ["lyu2021/fig90"] * 4


def test_the_rest_goes_on(tmp_path, store):
    entries = [
        toys.toy_entry("fig90", compute=toys.broken),
        toys.toy_entry("fig91", compute=toys.without_jax),
        toys.toy_entry("fig92", claims=toys.failing_claims),
        toys.toy_entry("fig93"),
    ]
    seen = []
    made = list(
        reproduce_all(
            entries, Size.QUICK, tmp_path, store=store, progress=lambda e, share, words: seen.append((e.key, share))
        )
    )
    broken, missing, _, fine = made
    assert broken.problem == f"ZeroDivisionError: a bug <here> (toy_figures.py, line {broken.problem.split()[-1]}"
    assert missing.problem.startswith("This figure needs jax")
    assert [item.has_failed for item in made] == [True, False, True, False]
    assert [item.is_missing_extra for item in made] == [False, True, False, False]
    assert [len(item.claims) for item in made] == [0, 0, 1, 3]
    assert fine.files
    assert ("lyu2021/fig93", 0.5) in seen


def test_claims_are_judged_where_nothing_can_be_drawn(tmp_path):
    entry = toys.toy_entry("fig94", draw=toys.draw_without_matplotlib)
    (made,) = reproduce_all([entry], Size.QUICK, tmp_path)
    assert [claim.holds for claim in made.claims] == [True, False, None]
    assert made.files == ()
    assert made.problem.startswith("Drawing needs matplotlib")
    assert not made.has_failed
    with pytest.raises(MissingExtraError, match="Drawing needs matplotlib"):
        list(reproduce_all([entry], Size.QUICK, tmp_path, goes_on=False))


def test_alone_the_error_is_raised(tmp_path):
    with pytest.raises(MissingExtraError):
        list(reproduce_all([toys.toy_entry("fig91", compute=toys.without_jax)], Size.QUICK, tmp_path, goes_on=False))


def test_the_record_comes_back(tmp_path, store):
    made = list(reproduce_all([toys.toy_entry("fig93"), toys.toy_entry("fig9")], Size.FULL, tmp_path, store=store))
    write_record(made, tmp_path)
    assert read_record(tmp_path) == tuple(replace(item, seconds=0.0) for item in made)
    record = json.loads((tmp_path / "results.json").read_text())["reproductions"][0]
    assert record["files"] == ["lyu2021/toy.png", "lyu2021/toy.html"]
    assert "seconds" not in record, "27 of 48 said 0.0: how long it took to look at kept results again"
    assert record["computing_seconds"] == made[0].computing_seconds
    assert record["command"] == "reluflow reproduce lyu2021/fig93 --full"
    assert read_record(tmp_path / "elsewhere") == ()
    (tmp_path / "results.json").write_text('{"reproductions": [{"key": 1}]}')
    with pytest.raises(InvalidInputError, match="must be a record of reproductions"):
        read_record(tmp_path)


def test_merging_keeps_the_newest_and_sorts(tmp_path, store):
    old = list(reproduce_all([toys.toy_entry(n) for n in ("table9", "fig10", "fig9")], Size.QUICK, tmp_path))
    new = list(reproduce_all([toys.toy_entry("fig10")], Size.FULL, tmp_path))
    both = merged(old, new)
    assert [item.key for item in both] == ["lyu2021/fig9", "lyu2021/fig10", "lyu2021/table9"]
    assert [str(item.size) for item in both] == ["quick", "full", "quick"]


def test_those_who_write_one_record_at_once_do_not_undo_each_other(tmp_path, store):
    """A command read the record when it began: what another had put there since was gone when it wrote."""
    names = [f"fig{k}" for k in range(1, 13)]
    made = list(reproduce_all([toys.toy_entry(name) for name in names], Size.QUICK, tmp_path, store=store))
    folder = tmp_path / "one"
    with ThreadPoolExecutor(6) as pool:
        everything = list(pool.map(lambda item: add_to_record([item], folder), made))
    assert [item.key for item in read_record(folder)] == [f"lyu2021/{name}" for name in names]
    assert sorted(map(len, everything)) == list(range(1, 13))


def test_markdown_of_the_claims(tmp_path, store):
    entries = [toys.toy_entry("fig93"), toys.toy_entry("fig91", compute=toys.without_jax)]
    text = claims_markdown(reproduce_all(entries, Size.QUICK, tmp_path))
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == 4
    assert all(row.replace("\\|", "").count("|") == 9 for row in rows)
    assert "| ✗ no (known) | the proof drops a term |" in text
    assert "| ? open | the quick size stops before |" in text
    assert "| not made | This figure needs jax" in text
    assert "The papers make 2 statements on 2 figures and tables: 1 hold, 1 do not (1 of these known and" in text
    assert "Beside them stand 1 statements of ours, of which 0 hold." in text


def test_a_record_from_before_claims_named_their_source_is_read(tmp_path, store):
    made = list(reproduce_all([toys.toy_entry("fig93")], Size.QUICK, tmp_path, store=store))
    path = write_record(made, tmp_path)
    record = json.loads(path.read_text())
    for claim, is_ours in zip(record["reproductions"][0]["claims"], (False, False, True), strict=True):
        del claim["source"]
        claim["ours"] = is_ours
    record["reproductions"][0]["seconds"] = 0.0
    path.write_text(json.dumps(record))
    assert [claim.source for claim in read_record(tmp_path)[0].claims] == ["the paper", "the paper", "ours"]
