import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.sweep.values import canonical_decimal, parse_interval, parse_values


def test_the_three_ways_to_write_values():
    assert parse_values("10,100,1000", name="width") == ("10", "100", "1000")
    assert parse_values("0..19", name="seed") == tuple(str(k) for k in range(20))
    scales = parse_values("1e-1..1e-12:log:12", name="scale")
    assert [float(text) for text in scales] == [10.0**-k if k else 1.0 for k in range(1, 13)]
    assert [float(text) for text in parse_values("0..1:lin:5", name="leak")] == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_pieces_may_be_mixed_and_ranges_may_fall():
    assert parse_values("0..2,7,5..4", name="seed") == ("0", "1", "2", "7", "5", "4")


def test_a_logarithmic_range_agrees_with_numpy_and_reaches_beyond_doubles():
    found = [float(text) for text in parse_values("0.3..2e-7:log:9", name="scale")]
    np.testing.assert_allclose(found, np.geomspace(0.3, 2e-7, 9), rtol=1e-13)
    assert parse_values("1e-1..1e-401:log:5", name="scale") == ("0.1", "1e-101", "1e-201", "1e-301", "1e-401")


@pytest.mark.parametrize("text", ["1e-3", "0.001", "0.0010", "1E-3", "10e-4", " 1e-3 "])
def test_one_number_has_one_spelling(text):
    assert canonical_decimal(text) == "0.001"


@pytest.mark.parametrize("number", [1e-300, 123456.789, 1e15, 3.5, 100.0, 1e22, 0.1 + 0.2, -2.5])
def test_the_spelling_keeps_the_number(number):
    assert float(canonical_decimal(repr(number))) == number


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must have values"),
        ("1,,2", "a value between its commas"),
        ("0.5..2", "whole numbers around"),
        ("a..b", "whole numbers around"),
        ("1..2:log", "first..last:log:count"),
        ("1..2:cubic:3", "first..last:log:count"),
        ("1..2:log:x", "a whole number of values"),
        ("1..2:log:0", "a whole number of values"),
        ("0..2:log:3", "must be positive"),
        ("x..2:lin:3", "numbers at both ends"),
        ("0..99999999999", "at most"),
    ],
)
def test_refusals_name_the_swept_name(text, words):
    with pytest.raises(InvalidInputError, match=words) as refusal:
        parse_values(text, name="scale")
    assert "`scale`" in str(refusal.value)


def test_an_interval_has_no_number_of_points():
    assert parse_interval("2..200:log", name="n").spaced(3) == ("2", "20", "200")
    with pytest.raises(InvalidInputError, match="must be an interval"):
        parse_interval("2..200:log:4", name="n")
