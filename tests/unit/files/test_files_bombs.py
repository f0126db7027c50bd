"""Small files that hold far more than they seem to: refused, or read a little at a time."""

import bz2
import gzip
import io
import lzma
import tarfile
from itertools import chain, repeat

import pytest

from softquery.errors import InputError
from softquery.files import open_text, read_rows, read_tagged
from softquery.files.archives import read_members
from softquery.files.text_lines import LEAST_UNPACKED, LONGEST_LINE, LONGEST_TEXT
from softquery.files.word_tests import read_graded_words, read_questions

PACKERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
MEGABYTE = 1 << 20


def packed(path, parts):
    with PACKERS[path.suffix](path, "wb") as file:
        for part in parts:
            file.write(part)
    return path


@pytest.mark.parametrize("suffix", PACKERS)
def test_what_unpacks_to_far_more_than_its_size_is_refused(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("softquery.files.text_lines.LEAST_UNPACKED", 1 << 20)
    path = packed(tmp_path / f"a.txt{suffix}", repeat(b"word\n" * 200_000, 2))
    assert path.stat().st_size * 100 < 1 << 20
    with pytest.raises(InputError, match=r"unpacks to more than 100 times its size; unpack it"):
        list(read_rows(path, columns=["text"]))


def test_what_unpacks_to_no_more_than_the_least_is_read(tmp_path):
    path = packed(tmp_path / "a.txt.gz", repeat(b"word\n" * 200_000, 2))
    assert path.stat().st_size * 200 < 2_000_000 < LEAST_UNPACKED
    assert sum(1 for _ in read_rows(path, columns=["text"])) == 400_000


def test_a_whole_text_has_a_longest_length(tmp_path):
    path = packed(tmp_path / "a.txt.gz", repeat(b"word\n" * 200_000, 10))
    message = rf"row \d+: the text is longer than {LONGEST_TEXT:,} characters"
    with open_text(path) as lines, pytest.raises(InputError, match=message):
        lines.read()


def test_the_longest_text_is_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("wor\n" * (LONGEST_TEXT // 4))
    with open_text(path) as lines:
        assert len(lines.read()) == LONGEST_TEXT - 1
    path.write_text("wor\n" * (LONGEST_TEXT // 4) + "too")
    with open_text(path) as lines, pytest.raises(InputError, match="is longer than"):
        lines.read()


def test_a_csv_record_that_never_ends_is_refused(tmp_path):
    path = packed(tmp_path / "a.csv.gz", chain([b"text,label\n"], repeat(b'"\n",' * 100_000, 40)))
    message = r"row 2: the record is longer than 4,194,304 characters"
    for on_bad in (None, lambda error: None):
        with pytest.raises(InputError, match=message):
            list(read_rows(path, columns=["text"], on_bad=on_bad))


def test_a_sentence_that_never_ends_is_refused(tmp_path):
    path = packed(tmp_path / "a.conll.gz", repeat(b"word\tNOUN\n" * 100_000, 5))
    with pytest.raises(InputError, match=r"row 1: the sentence is longer than 1,048,576 char"):
        list(read_tagged(path))


@pytest.mark.parametrize(
    ("read", "line"), [(read_questions, b"a b c d\n"), (read_graded_words, b"a\tb\t1\n")]
)
def test_word_tests_have_a_largest_number(tmp_path, monkeypatch, read, line):
    monkeypatch.setattr("softquery.files.word_tests.MOST", 1000)
    path = packed(tmp_path / "a.txt.gz", [line * 1001])
    with pytest.raises(InputError, match="row 1001: holds more than 1,000 "):
        read(path)


class TestArchives:
    def add(self, archive, name, size):
        member = tarfile.TarInfo(name)
        member.size = size
        archive.addfile(member, io.BytesIO(bytes(size)))

    def test_an_archive_that_unpacks_to_far_more_is_refused(self, tmp_path):
        path = tmp_path / "semcor.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            self.add(archive, "a/other", 70 * MEGABYTE)
            self.add(archive, "a/tagfiles/one", 10)
        with pytest.raises(InputError, match="unpacks to more than 100 times its size"):
            list(read_members(path, "tagfiles/[^/]+"))

    def test_a_member_that_says_it_is_giant_is_refused(self, tmp_path):
        path = tmp_path / "semcor.tar"
        header = tarfile.TarInfo("a/tagfiles/one")
        header.size = 20 << 30
        path.write_bytes(header.tobuf())
        with pytest.raises(InputError, match="holds more than 268,435,456 bytes of texts"):
            list(read_members(path, "tagfiles/[^/]+"))

    def test_a_sparse_giant_in_a_folder_is_refused(self, tmp_path):
        (tmp_path / "tagfiles").mkdir()
        with open(tmp_path / "tagfiles" / "one", "wb") as file:
            file.truncate(20 << 30)
        with pytest.raises(InputError, match="holds more than 268,435,456 bytes of texts"):
            list(read_members(tmp_path, "tagfiles/[^/]+"))


class TestParquet:
    @pytest.fixture
    def arrow(self):
        pytest.importorskip("pyarrow")
        import pyarrow
        import pyarrow.parquet

        return pyarrow

    def write(self, arrow, path, column, **options):
        arrow.parquet.write_table(arrow.table({"text": [column] * 300}), path, **options)
        return path

    def most_memory(self, arrow, rows):
        """The rows' numbers, and the memory that Arrow held at most while they were read."""
        before, numbers, most = arrow.total_allocated_bytes(), [], 0
        for row in rows:
            numbers.append(row.number)
            most = max(most, arrow.total_allocated_bytes() - before)
        return numbers, most

    def test_one_long_value_of_many_rows_is_read_a_few_rows_at_a_time(self, tmp_path, arrow):
        path = self.write(arrow, tmp_path / "a.parquet", "x" * 1_000_000)
        assert path.stat().st_size < 100_000
        numbers, most = self.most_memory(arrow, read_rows(path, columns=["text"]))
        assert numbers == list(range(1, 301))
        assert most < 200 * MEGABYTE

    def test_values_that_repeat_their_predecessors(self, tmp_path, arrow):
        values = ["x" * 1_000_000 + str(number) for number in range(300)]
        path = tmp_path / "a.parquet"
        options = {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
        arrow.parquet.write_table(arrow.table({"text": values}), path, **options)
        numbers, most = self.most_memory(arrow, read_rows(path, columns=["text"]))
        assert numbers == list(range(1, 301))
        assert most < 200 * MEGABYTE

    def test_a_value_beyond_the_longest_is_refused_in_every_row(self, tmp_path, arrow):
        path = self.write(arrow, tmp_path / "a.parquet", "x" * (LONGEST_LINE + 1))
        bad = []
        rows = read_rows(path, columns=["text"], on_bad=bad.append)
        assert self.most_memory(arrow, rows)[0] == []
        assert len(bad) == 300
        assert str(bad[-1]) == f"{path}, row 300: text is longer than 1,048,576 characters"

    def test_a_column_that_unpacks_to_far_more_is_refused(self, tmp_path, arrow):
        path = tmp_path / "a.parquet"
        text = ["x" * (70 * MEGABYTE)]
        arrow.parquet.write_table(arrow.table({"text": text}), path, compression="zstd")
        with pytest.raises(InputError, match='column "text" unpacks to more than 100 times'):
            list(read_rows(path, columns=["text"]))

    @pytest.mark.parametrize("shape", ["list", "struct", "map"])
    def test_a_row_of_many_items(self, tmp_path, arrow, shape):
        long, path = "x" * 100_000, tmp_path / "a.parquet"
        many = {
            "list": [[long] * 60, ["short"], None],
            "struct": [{"a": [long] * 60}, {"a": ["short"]}, None],
            "map": [[(str(n), long) for n in range(60)], [("a", "short")], None],
        }[shape]
        kind = arrow.map_(arrow.string(), arrow.string()) if shape == "map" else None
        table = arrow.table({"text": ["a", "b", "c"], "more": arrow.array(many, kind)})
        arrow.parquet.write_table(table, path)
        bad = []
        rows = list(read_rows(path, columns=["text"], optional=["more"], on_bad=bad.append))
        assert [row.number for row in rows] == [2, 3]
        assert str(bad[0]) == f"{path}, row 1: more is longer than 1,048,576 characters"

    def test_a_row_of_very_many_numbers_is_refused(self, tmp_path, arrow):
        path = tmp_path / "a.parquet"
        column = arrow.array([[1] * 2_000_000])
        arrow.parquet.write_table(arrow.table({"text": ["a"], "more": column}), path)
        with pytest.raises(InputError, match='the lists of column "more" are too long'):
            list(read_rows(path, columns=["text"], optional=["more"]))
        assert len(list(read_rows(path, columns=["text"]))) == 1
