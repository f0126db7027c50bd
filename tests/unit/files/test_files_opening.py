"""Lines from files: encodings, line ends, archives, and what is said when they are broken."""

import bz2
import gzip
import lzma
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import InputError
from softquery.files import open_text
from softquery.files.text_lines import BLOCK_SIZE

PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


def save(path, contents):
    packer = PACKERS.get(path.suffix, bytes)
    path.write_bytes(packer(contents))
    return path


def lines_of(path, **options):
    with open_text(path, **options) as handle:
        return list(handle)


def test_lines_end_in_newline_or_return_newline(tmp_path):
    path = save(tmp_path / "a.txt", b"one\r\ntwo\nthree\rfour\n\n five ")
    assert lines_of(path) == ["one", "two", "three\rfour", "", " five "]


def test_only_one_return_belongs_to_the_line_end(tmp_path):
    assert lines_of(save(tmp_path / "a.txt", b"one\r\r\ntwo\r")) == ["one\r", "two"]


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_other_separators_are_data(tmp_path, separator):
    path = save(tmp_path / "a.txt", f"one{separator}two\nthree".encode())
    assert lines_of(path) == [f"one{separator}two", "three"]


@pytest.mark.parametrize("suffix", PACKERS)
def test_mark_is_dropped_and_numbers_count_from_one(tmp_path, suffix):
    path = save(tmp_path / f"a.txt{suffix}", "\ufeffé\n\ufeffz\n".encode())
    with open_text(path) as handle:
        assert [(handle.number, line) for line in handle] == [(1, "é"), (2, "\ufeffz")]
        assert str(handle.error("odd")) == f"{path}, row 2: odd"


def test_read_joins_what_is_left(tmp_path):
    path = save(tmp_path / "a.json.xz", b'{\r\n"a":\n1}\n')
    with open_text(path) as handle:
        assert next(handle) == "{"
        assert handle.read() == '"a":\n1}'


def test_empty_file_has_no_lines(tmp_path):
    assert lines_of(save(tmp_path / "a.txt", b"")) == []
    assert lines_of(save(tmp_path / "a.txt.gz", b"")) == []


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.text(st.characters(exclude_characters="\n\r\0", codec="utf-8"))),
    suffix=st.sampled_from(list(PACKERS)),
)
def test_any_lines_come_back(tmp_path_factory, lines, suffix):
    path = tmp_path_factory.mktemp("lines") / f"a.txt{suffix}"
    save(path, "".join(f"{line}\n" for line in lines).encode())
    expected = [line.removeprefix("\ufeff") if n == 0 else line for n, line in enumerate(lines)]
    assert lines_of(path) == expected


def test_characters_across_blocks_stay_whole(tmp_path):
    lines = [f"{'語' * (n % 997)}é{n}" for n in range(3000)]
    contents = "\n".join(lines).encode()
    assert len(contents) > 4 * BLOCK_SIZE
    for suffix in PACKERS:
        assert lines_of(save(tmp_path / f"a.txt{suffix}", contents)) == lines


@pytest.mark.parametrize("num_good", [0, 3, 40_000])
def test_latin_1_row_after_utf_8_rows_is_named(tmp_path, num_good):
    contents = "größer\n".encode() * num_good + "ein größerer\n".encode("latin-1") + b"end\n"
    path = save(tmp_path / "mixed.txt", contents)
    seen = []
    with (
        pytest.raises(InputError, match=r"mixed\.txt, row (\d+): not valid UTF-8") as caught,
        open_text(path) as handle,
    ):
        seen.extend(handle)
    assert len(seen) == num_good
    assert caught.value.row == num_good + 1
    assert "(byte 0xf6 at column 7); save the file as UTF-8" in str(caught.value)


def test_column_of_a_broken_byte_counts_characters(tmp_path):
    path = save(tmp_path / "a.txt", "語語".encode() + b"\xff")
    with pytest.raises(InputError, match=r"row 1: .*byte 0xff at column 3\)"):
        lines_of(path)


def test_nul_byte_is_named(tmp_path):
    path = save(tmp_path / "a.txt", b"good\nba\0d\n")
    with pytest.raises(InputError, match=r"a\.txt, row 2: holds a NUL byte \(at column 3\)"):
        lines_of(path)


def test_long_line_is_named_and_the_limit_is_exact(tmp_path):
    path = save(tmp_path / "a.txt", "é\n".encode() + "é".encode() * 50 + b"\nend")
    assert len(lines_of(path, longest_line=50)) == 3
    with pytest.raises(InputError, match=r"row 2: the line is longer than 49 characters"):
        lines_of(path, longest_line=49)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_line_of_many_megabytes_is_refused_unless_allowed(tmp_path, suffix):
    contents = b"good\n" + b"x" * (6 << 20) + b"\nend\n"
    path = save(tmp_path / f"a.txt{suffix}", contents)
    with pytest.raises(InputError, match=r"row 2: the line is longer than 1,048,576 characters"):
        lines_of(path)
    assert [len(line) for line in lines_of(path, longest_line=8 << 20)] == [4, 6 << 20, 3]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_truncated_archive_names_the_row_reached(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    contents = "".join(f"{os.urandom(16).hex()} row\n" for _ in range(50_000)).encode()
    packed = PACKERS[suffix](contents)
    path.write_bytes(packed[: len(packed) // 2])
    seen = []
    match = rf"a\.txt{suffix}, row \d+: the compressed file breaks off here \(truncated\)"
    with pytest.raises(InputError, match=match) as caught, open_text(path) as handle:
        seen.extend(handle)
    assert len(seen) > 1000
    assert caught.value.row == len(seen) + 1
    assert seen == contents.decode().split("\n")[: len(seen)]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_damaged_archive_is_told(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    packed = bytearray(PACKERS[suffix](os.urandom(5000).hex().encode()))
    for place in range(len(packed) // 2, len(packed) // 2 + 40):
        packed[place] ^= 0xA5
    path.write_bytes(packed)
    with pytest.raises(InputError, match=r"row 1: the compressed data is damaged"):
        lines_of(path)


@pytest.mark.parametrize(
    ("name", "contents", "reason"),
    [
        ("a.txt.gz", b"plain text", "does not hold gzip data, although its name says so"),
        ("a.txt.xz", gzip.compress(b"x", mtime=0), "does not hold xz data"),
        ("a.txt.bz2", b"BZ", "breaks off here"),
        ("a.txt.gz", b"\x1f\x8b\x08", "breaks off here"),
        (
            "a.txt",
            gzip.compress(b"x", mtime=0),
            r"row 1: holds gzip data; its name should end in \.gz",
        ),
        ("a.txt", lzma.compress(b"x"), r"row 1: holds xz data; its name should end in \.xz"),
        ("a.txt", "text\n".encode("utf-16"), "row 1: is UTF-16 text; save the file as UTF-8"),
        ("a.txt", b"\xfe\xff\0a", "is UTF-16 text"),
        ("a.txt", "text\n".encode("utf-32"), "is UTF-32 text; save the file as UTF-8"),
        ("a.txt", b"PK\x03\x04....", "holds a ZIP archive or a spreadsheet"),
        ("a.txt", b"PAR1....", r"its name should end in \.parquet"),
        ("a.txt", bytes(range(256)) * 8, "row 1: holds a NUL byte"),
    ],
)
def test_other_kinds_of_file_are_recognised(tmp_path, name, contents, reason):
    path = tmp_path / name
    path.write_bytes(contents)
    with pytest.raises(InputError, match=reason):
        lines_of(path)


def test_utf_16_inside_an_archive_is_recognised(tmp_path):
    path = save(tmp_path / "a.txt.gz", "text\n".encode("utf-16"))
    with pytest.raises(InputError, match="is UTF-16 text"):
        lines_of(path)


def test_missing_file_folder_and_odd_names_are_one_line(tmp_path):
    for path, reason in [
        (tmp_path / "none.txt", "none.txt: no such file"),
        (tmp_path, "is a folder, expected a file"),
        (save(tmp_path / "file", b"x") / "inside.txt", "a part of its path is a file"),
        (tmp_path / ("x" * 300), "the name is too long"),
        (str(tmp_path / "a\0b"), "the name holds a NUL byte"),
    ]:
        with pytest.raises(InputError, match=reason) as caught:
            lines_of(path)
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_forbidden_file_is_one_line(tmp_path):
    path = save(tmp_path / "a.txt", b"secret")
    path.chmod(0)
    with pytest.raises(InputError, match="may not be read"):
        lines_of(path)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_file_is_closed_when_reading_stops_early(tmp_path):
    path = save(tmp_path / "a.txt", b"one\ntwo\n")
    with open_text(path) as handle:
        assert next(handle) == "one"
    with open_text(path) as again:
        assert next(again) == "one"
    assert not [n for n in os.listdir("/proc/self/fd") if _points_to(n, path)]


def _points_to(number, path):
    try:
        return os.readlink(f"/proc/self/fd/{number}") == str(path)
    except OSError:
        return False
