"""Chinese text is cut into words by jieba where nobody chose otherwise."""

import pytest

pytest.importorskip("torch", reason="recipes for training need the extra [train]")

from softquery.errors import MissingExtra
from softquery.recipes import override, recipe
from softquery.running import corpus_words
from softquery.running.corpus_words import is_chinese, suit_words

CHINESE = "皇帝住在北京的宫殿里。\n= 标题 =\nNASA\n他的母亲是皇后。\n"


def suited(path, chosen=frozenset(), **settings):
    said = []
    changes = [f"text.{name}={value}" for name, value in settings.items()]
    run = override(recipe("word2vec"), changes)
    return suit_words(run, [path], chosen, said.append).text.unit, said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CHINESE, True),
        ("The emperor lives in a palace.\nWhat does 皇帝 mean?\n", False),
        ("返品したいのですが。\n皇帝です。\n", False),
        ("\n1 2 3\n", False),
    ],
)
def test_most_lines_decide(tmp_path, text, expected):
    path = tmp_path / "corpus.txt"
    path.write_text(text, encoding="utf-8")
    assert is_chinese(path) is expected


def test_words_of_jieba_by_default(tmp_path):
    pytest.importorskip("jieba", reason="words of Chinese need the extra [zh]")
    path = tmp_path / "corpus.txt"
    path.write_text(CHINESE, encoding="utf-8")
    unit, said = suited(path)
    assert unit == "jieba"
    assert said == [
        "Chinese text: cut into words by jieba; --set text.unit=characters for characters"
    ]
    assert suited(path, frozenset({"text.unit"}), unit="characters") == ("characters", [])
    assert suited(path, frozenset({"text.unit"})) == ("words", [])
    assert suited(path, None) == ("words", [])  # as in Python, where a run is what it is


def test_without_jieba_the_way_out_is_named(tmp_path, monkeypatch):
    path = tmp_path / "corpus.txt"
    path.write_text(CHINESE, encoding="utf-8")
    monkeypatch.setattr(corpus_words, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"text\.unit=characters.*softquery\[zh\]"):
        suited(path)
