"""`reluflow reproduce`: the JSON of the interface, exit statuses, and what survives an interruption."""

import json

import pytest

from papers import toy_figures as toys
from reluflow.papers import registry


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """Let the registry hold toy figures; results are kept in a folder of their own."""
    monkeypatch.setenv("RELUFLOW_CACHE", str(tmp_path / "kept"))

    def put(*entries):
        monkeypatch.setattr(registry, "all_entries", lambda: entries)

    return put


def test_listing(reluflow):
    result = reluflow("reproduce", "--json")
    assert result.status == 0
    assert set(result.json) == {"figures"}
    for figure in result.json["figures"]:
        assert set(figure) == {"key", "files", "claims", "seconds"}
    keys = [figure["key"] for figure in result.json["figures"]]
    assert {"boursier2024/fig1", "boursier2024/fig2", "boursier2024/fig3"} <= set(keys)
    people = reluflow("reproduce")
    assert people.status == 0
    assert all(key in people.out for key in keys)


def test_json(reluflow, toy, tmp_path):
    toy(toys.toy_entry("fig93"))
    result = reluflow("reproduce", "lyu2021/fig93", "--out", tmp_path / "out", "--json")
    assert result.status == 0
    assert result.err == ""
    (figure,) = result.json["figures"]
    assert set(figure) == {"key", "files", "claims", "seconds"}
    assert figure["key"] == "lyu2021/fig93"
    assert [name.rpartition("/")[2] for name in figure["files"]] == ["toy.png", "toy.html"]
    assert figure["seconds"] >= 0
    for claim in figure["claims"]:
        assert set(claim) == {"text", "holds", "measured", "expected", "source"}
    assert [claim["holds"] for claim in figure["claims"]] == [True, False, None]
    assert (tmp_path / "out" / "index.html").is_file()
    assert (tmp_path / "out" / "results.json").is_file()


def test_a_known_finding_is_shown_and_is_no_failure(reluflow, toy, tmp_path):
    toy(toys.toy_entry("fig93"))
    result = reluflow("reproduce", "lyu2021", "--out", tmp_path / "out")
    assert result.status == 0
    assert "✗" in result.out
    assert "Known: the proof drops a term" in result.out
    assert "index.html" in result.out


def test_a_claim_that_fails_is_status_1(reluflow, toy, tmp_path):
    toy(toys.toy_entry("fig92", claims=toys.failing_claims))
    assert reluflow("reproduce", "lyu2021/fig92", "--out", tmp_path).status == 1


def test_a_missing_extra_alone_is_status_2(reluflow, toy, tmp_path):
    toy(toys.toy_entry("fig91", compute=toys.without_jax), toys.toy_entry("fig93"))
    alone = reluflow("reproduce", "lyu2021/fig91", "--out", tmp_path, "--json")
    assert (alone.status, alone.out) == (2, "")
    assert alone.err.startswith("This figure needs jax")
    everything = reluflow("reproduce", "--all", "--out", tmp_path)
    assert everything.status == 0
    assert "Could not be made: This figure needs jax" in everything.out
    assert "lyu2021/fig93" in everything.out


def test_a_figure_that_breaks_does_not_lose_the_others(reluflow, toy, tmp_path):
    toy(toys.toy_entry("fig90", compute=toys.broken), toys.toy_entry("fig93"))
    result = reluflow("reproduce", "--all", "--out", tmp_path, "--json")
    assert result.status == 1
    assert [len(figure["claims"]) for figure in result.json["figures"]] == [0, 3]


def test_ctrl_c_keeps_what_is_finished(reluflow, toy, tmp_path):
    toy(toys.toy_entry("fig93"), toys.toy_entry("fig95", compute=toys.interrupted), toys.toy_entry("fig96"))
    result = reluflow("reproduce", "--all", "--out", tmp_path / "out", "--json")
    assert result.status == 130
    assert [figure["key"] for figure in result.json["figures"]] == ["lyu2021/fig93"]
    assert "1 of 3 are done and kept" in result.err
    record = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [item["key"] for item in record["reproductions"]] == ["lyu2021/fig93"]
    assert "lyu2021/fig93" in (tmp_path / "out" / "index.html").read_text()
    toys.computed.clear()
    toy(toys.toy_entry("fig93"), toys.toy_entry("fig95"), toys.toy_entry("fig96"))
    assert reluflow("reproduce", "--all", "--out", tmp_path / "out").status == 0
    assert toys.computed == ["lyu2021/fig95", "lyu2021/fig96"]


def test_the_gallery_grows_and_the_store_obeys(reluflow, toy, tmp_path):
    toy(toys.toy_entry("fig93"), toys.toy_entry("fig96"))
    toys.computed.clear()
    for name in ("fig93", "fig96", "fig93"):
        reluflow("reproduce", f"lyu2021/{name}", "--out", tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    assert 'id="lyu2021-fig93"' in page
    assert 'id="lyu2021-fig96"' in page
    assert toys.computed == ["lyu2021/fig93", "lyu2021/fig96"]
    reluflow("reproduce", "lyu2021/fig93", "--out", tmp_path / "out", "--fresh")
    reluflow("reproduce", "lyu2021/fig93", "--out", tmp_path / "out", "--no-cache")
    reluflow("reproduce", "lyu2021/fig93", "--out", tmp_path / "out", "--full")
    assert toys.computed[2:] == ["lyu2021/fig93"] * 3


def test_the_table(reluflow, toy, tmp_path):
    toy(toys.toy_entry("fig93"))
    assert (
        reluflow("reproduce", "--all", "--full", "--out", tmp_path, "--table", tmp_path / "docs" / "t.md").status == 0
    )
    text = (tmp_path / "docs" / "t.md").read_text()
    assert text.startswith("# Reproductions\n")
    assert "full," in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--quick", "--full", "--all"), "exclude each other"),
        (("--table", "claims.md"), "`--table` needs something to make"),
        (("lyu2021", "--all"), "leave out 'lyu2021' or `--all`"),
        (("boursier2042",), "did you mean boursier2024?"),
    ],
)
def test_refusals(reluflow, words, sentence):
    result = reluflow("reproduce", *words)
    assert (result.status, result.out) == (2, "")
    assert sentence in result.err
    assert result.err.count("\n") == 1
