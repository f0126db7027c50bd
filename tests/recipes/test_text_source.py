"""Which files a language model learns from, and which it is measured on."""

import pytest

from softquery.errors import InputError
from softquery.running.pretrain import text_source


def found(folder, *names, valid="valid"):
    """The names of the files that are measured on, and what was said of them."""
    for name in names:
        (folder / name).write_text("A man sings.")
    said: list[str] = []
    source = text_source(folder, ["train"], valid, None, said.append)
    return [path.name for path in source.valid], said


def test_dev_stands_for_valid_and_that_is_said(tmp_path):
    files, said = found(tmp_path, "train.txt", "dev-00.txt", "dev-01.txt")
    assert files == ["dev-00.txt", "dev-01.txt"]
    assert said == [f"{tmp_path} holds no text for valid; dev is measured on instead"]


@pytest.mark.parametrize("valid", ["valid", "dev"])
def test_what_was_asked_for_needs_no_word(valid, tmp_path):
    names = ("train.txt", "valid.txt", "dev.txt")
    assert found(tmp_path, *names, valid=valid) == ([f"{valid}.txt"], [])


@pytest.mark.parametrize(
    ("names", "valid"),
    [(["train.txt"], "valid"), (["train.txt", "dev.txt"], "test")],
    ids=["neither", "another"],
)
def test_nothing_else_stands_for_what_is_missing(names, valid, tmp_path):
    with pytest.raises(InputError, match=f"no text for {valid}, such as {valid}.txt"):
        found(tmp_path, *names, valid=valid)


def test_dev_does_not_stand_for_what_cannot_be_read(tmp_path):
    (tmp_path / "valid.txt").mkdir()
    with pytest.raises(InputError, match=r"valid\.txt: is a folder"):
        found(tmp_path, "train.txt", "dev.txt")
