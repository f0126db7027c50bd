"""Two files that stand line by line."""

import lzma

import pytest

from softquery.errors import InputError
from softquery.files import read_aligned


def write(folder, **texts):
    for name, text in texts.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")


def test_lines_become_rows(tmp_path):
    write(tmp_path, train_de="eins\nzwei\n\nvier\n", train_en="one\ntwo\nthree\nfour\n")
    rows, num_blank = read_aligned(tmp_path, "train", ("de", "en"))
    assert [row.values for row in rows] == [
        {"source": "eins", "target": "one"},
        {"source": "zwei", "target": "two"},
        {"source": "vier", "target": "four"},
    ]
    assert [row.number for row in rows] == [1, 2, 4]
    assert num_blank == 1


def test_compressed_files_are_found(tmp_path):
    for ending, text in (("de", b"eins\n"), ("en", b"one\n")):
        (tmp_path / f"val.{ending}.xz").write_bytes(lzma.compress(text))
    assert len(read_aligned(tmp_path, "val", ("en", "de"))[0]) == 1


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"train_de": "a\nb\n", "train_en": "a\n"}, r"train.en, row 2: ends here, but train.de"),
        ({"train_de": "a\n", "train_en": "a\nb\n"}, r"train.de, row 2: ends here, but train.en"),
        ({"train_de": "a\n"}, r"no file for train, such as train.en"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path, texts, message):
    write(tmp_path, **texts)
    with pytest.raises(InputError, match=message):
        read_aligned(tmp_path, "train", ("de", "en"))
