"""Words and tags from the columns of Universal Dependencies."""

import lzma

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_senses import conllu
from softquery.errors import InputError
from softquery.files.conllu import TaggedSentence, find_conllu, read_conllu

ROW = "{}\t{}\t_\t{}\t_\t_\t_\t_\t_\t_\n"


def test_words_and_not_what_is_written_for_several(tmp_path):
    text = "# text = Don't!\n" + "".join(
        ROW.format(*row)
        for row in [("1-2", "Don't", "_"), (1, "Do", "AUX"), (2, "n't", "PART"),
                    ("2.1", "go", "VERB"), (3, "!", "PUNCT")]
    )  # fmt: skip
    path = tmp_path / "dev.conllu.xz"
    path.write_bytes(lzma.compress(f"{text}\n\n{text}".encode()))
    sentence = TaggedSentence(["Do", "n't", "!"], ["AUX", "PART", "PUNCT"])
    assert read_conllu(path) == [sentence, sentence]


word = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(word.filter(lambda w: "/" not in w), min_size=1, max_size=4), min_size=1))
def test_every_word_comes_back(tmp_path_factory, sentences):
    path = tmp_path_factory.mktemp("conllu") / "train.conllu"
    lines = [" ".join(f"{token}/X" for token in tokens) for tokens in sentences]
    path.write_text(conllu(*lines), encoding="utf-8")
    assert [each.tokens for each in read_conllu(path)] == sentences


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\tcat\n", r"row 1: expected 10 columns \(CoNLL-U\), found 2"),
        (ROW.format(1, "cat", "_"), r"row 1: expected a word and its part of speech \(UPOS\)"),
        (ROW.format(1, "", "NOUN"), "row 1: expected a word and its part of speech"),
        ("# nothing\n", "train.conllu: holds no sentence"),
        ("", "train.conllu: holds no sentence"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, text, said):
    path = tmp_path / "train.conllu"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_conllu(path)


def test_files_are_found_under_both_habits(tmp_path):
    for name in ("en_ewt-ud-train.conllu", "dev.conllu.xz", "dev.txt"):
        (tmp_path / name).write_bytes(b"")
    assert find_conllu(tmp_path, "train").name == "en_ewt-ud-train.conllu"
    assert find_conllu(tmp_path, "dev").name == "dev.conllu.xz"
    with pytest.raises(InputError, match=r"one file for test such as test\.conllu, found none"):
        find_conllu(tmp_path, "test")
    (tmp_path / "dev.conllu").write_bytes(b"")
    with pytest.raises(InputError, match=r"one file for dev such as dev\.conllu, found 2 among"):
        find_conllu(tmp_path, "dev")
    with pytest.raises(InputError, match="no such folder"):
        find_conllu(tmp_path / "none", "dev")
    with pytest.raises(InputError, match="is a file, expected a folder"):
        find_conllu(tmp_path / "dev.txt", "dev")
