"""An .npz that grows: numpy reads it, and a writer that was stopped goes on with it."""

import io
import struct
import zipfile

import numpy as np
import pytest

from softquery.files import NpzEntries

ARRAYS = [np.random.default_rng(n).normal(size=(3, n, 4)).astype(np.float32) for n in range(9)]


def mark(number):
    return struct.pack("<Q", number)


def written(arrays, *, finish=True):
    archive = io.BytesIO()
    entries = NpzEntries(archive.write)
    for number, array in enumerate(arrays):
        entries.append(array, mark(number))
    if finish:
        entries.finish()
    entries.close()
    return archive.getvalue()


def test_numpy_reads_it():
    opened = np.load(io.BytesIO(written(ARRAYS)), allow_pickle=False)
    assert opened.files == [f"arr_{number}" for number in range(9)]
    for name, array in zip(opened.files, ARRAYS, strict=True):
        assert opened[name].dtype == np.float32
        np.testing.assert_array_equal(opened[name], array)


@pytest.mark.parametrize("kind", [np.float16, np.int64])
def test_other_kinds_of_numbers(kind):
    opened = np.load(io.BytesIO(written([ARRAYS[3].astype(kind)])))
    assert opened["arr_0"].dtype == kind


def test_the_archive_is_sound():
    with zipfile.ZipFile(io.BytesIO(written(ARRAYS))) as archive:
        assert archive.testzip() is None
        assert len(archive.infolist()) == 9


def test_none_at_all():
    assert np.load(io.BytesIO(written([]))).files == []


def test_more_entries_than_the_old_form_can_count():
    count = 70_000
    data = written([np.zeros(0, np.float16)] * count)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert len(archive.namelist()) == count
        assert archive.namelist()[-1] == f"arr_{count - 1}.npy"


def test_an_archive_beyond_four_gigabytes():
    """Places are written in 64 bits; the content is not really there."""

    class Far(io.BytesIO):
        """As if much came before."""

        start = 5 * 2**30

        def seek(self, place, whence=0):
            return super().seek(place - self.start if whence == 0 else place, whence) + self.start

        def tell(self):
            return super().tell() + self.start

    archive = Far()
    entries = NpzEntries(archive.write)
    entries.size = Far.start
    entries.append(ARRAYS[5], mark(0))
    entries.finish()
    with zipfile.ZipFile(archive) as opened:
        assert opened.infolist()[0].header_offset == Far.start
        assert opened.read("arr_0.npy").endswith(ARRAYS[5].tobytes())


@pytest.mark.parametrize("count", [0, 4, 9])
def test_going_on(count):
    """What an interrupted writer left, and half of the next entry."""
    begun = written(ARRAYS[:count], finish=False)
    longer = written(ARRAYS[: count + 1], finish=False)
    archive = io.BytesIO(begun + longer[len(begun) : (len(begun) + len(longer)) // 2])
    entries = NpzEntries(archive.write)
    assert entries.find(archive, count) == [mark(number) for number in range(count)]
    assert entries.find(archive, 1) is None
    assert archive.tell() == len(begun)
    archive.truncate()
    for number in range(count, 9):
        entries.append(ARRAYS[number], mark(number))
    entries.finish()
    assert archive.getvalue() == written(ARRAYS)


def test_too_few_leave_the_archive_where_it_stood():
    archive = io.BytesIO(written(ARRAYS[:3], finish=False))
    entries = NpzEntries(archive.write)
    assert entries.find(archive, 2) == [mark(0), mark(1)]
    place = archive.tell()
    assert entries.find(archive, 2) is None
    assert (archive.tell(), entries.count, entries.size) == (place, 2, place)


def test_damage_ends_what_is_at_hand():
    whole = written(ARRAYS[:3], finish=False)
    for spoilt in (
        whole[:-9] + b"\0" + whole[-8:],  # a changed number
        b"PK\x03\x05" + whole[4:],
        whole.replace(b"arr_0", b"arr_7"),
        b"junk" * 100,
    ):
        entries = NpzEntries(io.BytesIO().write)
        assert entries.find(io.BytesIO(spoilt), 3) is None
