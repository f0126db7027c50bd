"""Encodings come back as they were stored, up to the precision they were stored in."""

import numpy as np
import pytest

from softquery.search.storage.encodings import (
    Encodings,
    EncodingWriter,
    from_int3,
    from_int8,
    to_int3,
    to_int8,
)
from softquery.search.storage.index_files import FolderWriter


def some(width, lengths=(3, 1, 7, 2)):
    draw = np.random.default_rng(1)
    scale = np.repeat([1, 1, 20, 0.01], width // 4) if width % 4 == 0 else 1
    return [(draw.normal(size=(length, width)) * scale).astype(np.float32) for length in lengths]


def written(folder, precision, encodings, **options):
    writer = FolderWriter(folder)
    with EncodingWriter(writer, precision) as stored:
        stored.add(encodings[:2])
        stored.add([])
        stored.add(encodings[2:])
    return Encodings(folder, precision, encodings[0].shape[-1], len(encodings), **options)


@pytest.mark.parametrize(
    ("precision", "error"), [("int3", 0.126), ("int8", 0.005), ("float16", 0.0006)]
)
def test_rows_in_any_order(precision, error, tmp_path):
    encodings = some(16)
    stored = written(tmp_path, precision, encodings, is_flat=False)
    for place, found in zip((2, 0, 2), stored.of([2, 0, 2]), strict=True):
        expected = encodings[place].reshape(-1, 4, 4)
        largest = np.abs(expected).max(axis=2, keepdims=True)
        assert found.shape == encodings[place].shape
        assert found.dtype == np.float32
        assert (np.abs(found.reshape(-1, 4, 4) - expected) / largest).max() < error
    assert stored.of([]) == []


@pytest.mark.parametrize("width", [1, 2, 5, 18, 16])
def test_five_numbers_in_two_bytes_whatever_the_width(width, tmp_path):
    encodings = some(width)
    stored = written(tmp_path, "int3", encodings, is_flat=False)
    for found, expected in zip(stored.of(range(4)), encodings, strict=True):
        assert found.flags.c_contiguous
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=np.abs(expected).max() / 7.9)
    assert (tmp_path / "encodings.bin").stat().st_size == 13 * 2 * -(-width // 5)


def test_any_two_bytes_are_five_numbers():
    fives = np.arange(2**16, dtype=np.uint16)[None]
    found = from_int3(fives, np.ones((1, 4), dtype=np.float32), 5 * 2**16).reshape(-1, 5)
    assert len(np.unique(found[: 9**5], axis=0)) == 9**5
    assert (found.min(), found.max()) == (-4, 4)
    whole = np.flatnonzero(np.abs(found[: 9**5]).max(axis=1) == 4)  # which keep a scale of 1
    again, scales = to_int3(found[whole])
    assert (scales == 1).all()
    np.testing.assert_array_equal(again[:, 0], whole)


def test_one_vector_a_row(tmp_path):
    encodings = [each[0] for each in some(18)]
    stored = written(tmp_path, "int8", encodings, is_flat=True)
    found = stored.of([1])[0]
    assert found.shape == (18,)
    np.testing.assert_allclose(found, encodings[1], atol=np.abs(encodings[1]).max() / 200)


def test_zeros_stay_zeros():
    numbers, scales = to_int8(np.zeros((2, 8), dtype=np.float32))
    assert not from_int8(numbers, scales).any()
    halves, scales = to_int3(np.zeros((2, 8), dtype=np.float32))
    assert not from_int3(halves, scales, 8).any()


@pytest.mark.parametrize("precision", ["int3", "int8", "float16"])
def test_what_is_stored_can_be_stored_again(precision, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one = written(tmp_path / "one", precision, some(16), is_flat=False)
    with EncodingWriter(FolderWriter(tmp_path / "two"), precision) as copy:
        copy.add_stored(*one.stored([3]))
        copy.add_stored(*one.stored([0, 1]))
    two = Encodings(tmp_path / "two", precision, 16, 3, is_flat=False)
    for mine, theirs in zip(two.of([0, 1, 2]), one.of([3, 0, 1]), strict=True):
        np.testing.assert_array_equal(mine, theirs)
