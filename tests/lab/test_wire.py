"""Frames: what goes in comes out, and what is no frame is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reluflow.errors import InvalidInputError
from reluflow.lab.wire import pack, unpack
from reluflow.plain_values import plain


@given(
    st.lists(st.floats(allow_nan=False), max_size=20),
    st.lists(st.integers(-128, 127), max_size=20),
    st.text(max_size=30),
)
def test_a_frame_gives_back_every_bit(numbers, signs, word):
    arrays = {
        "numbers": np.array(numbers, dtype=np.float64),
        "signs": np.array(signs, dtype=np.int8),
        "table": np.arange(6, dtype=np.float32).reshape(2, 3),
    }
    header, found = unpack(pack({"word": word, "n": len(numbers)}, arrays))
    assert header == {"word": word, "n": len(numbers)}
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_arrays_begin_at_multiples_of_eight():
    """The browser reads float64 arrays in place, which needs an aligned beginning."""
    frame = pack({"a": 1}, {"bytes": np.ones(3, np.int8), "numbers": np.ones(2)})
    length = int.from_bytes(frame[4:8], "little")
    assert length % 8 == 0
    assert len(frame) == 8 + length + 8 + 16


def test_numbers_without_a_word_in_json_become_null():
    assert plain({"a": np.inf, "b": [np.nan, np.float32(1.5)], "c": (np.int8(3), True, None, "x")}) == {
        "a": None,
        "b": [None, 1.5],
        "c": [3, True, None, "x"],
    }


def test_what_is_no_frame_is_refused():
    with pytest.raises(InvalidInputError, match="must begin with b'RLF1', got b'PK"):
        unpack(b"PK\x03\x04aaaaaaaa")
    with pytest.raises(InvalidInputError, match="`a` must be an array of f8, f4, i4, i1, got complex128"):
        pack({}, {"a": np.ones(2, np.complex128)})
