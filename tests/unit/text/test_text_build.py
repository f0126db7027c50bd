"""Vocabularies: order, limits, and the same bytes in every process."""

import hashlib
import importlib.util
import os
import subprocess
import sys

import pytest

from softquery.errors import ConfigError, InputError
from softquery.text import TextConfig, build_pipeline, pipeline_from_words

DIGEST = """
import hashlib, sys
from softquery.text import TextConfig, build_pipeline
letter = lambda number: chr(97 + number % 26)
words = [letter(i) * (1 + i % 3) + letter(7 * i) + letter(i // 26) for i in range(300)]
texts = [" ".join(words[i % 300] for i in range(j, j + 9)) + " 我爱北京天安门" for j in range(300)]
for unit in sys.argv[1:]:
    built = build_pipeline(iter(texts), TextConfig(unit=unit), vocab_size=200)
    print(unit, hashlib.sha256(built.tokenizer.to_str().encode()).hexdigest())
"""


def test_order_is_by_count_then_alphabet():
    pipeline = build_pipeline(["d c b", "a b", "c b 我 é"], TextConfig())
    assert pipeline.vocabulary()[4:] == ["b", "c", "a", "d", "é", "我"]


def test_rare_words_are_left_out():
    pipeline = build_pipeline(["a a b", "c c"], TextConfig(), min_count=2)
    assert pipeline.vocabulary()[4:] == ["a", "c"]


def test_size_counts_the_reserved_tokens():
    pipeline = build_pipeline(["a a a b b c"], TextConfig(), vocab_size=6)
    assert pipeline.vocabulary()[4:] == ["a", "b"]


def test_jieba_words_are_counted_too():
    pytest.importorskip("jieba")
    pipeline = build_pipeline(["北京和天安门", "天安门"], TextConfig(unit="jieba"), min_count=2)
    assert pipeline.vocabulary()[4:] == ["天安门"]


@pytest.mark.parametrize("unit", ["bpe", "wordpiece"])
def test_subwords_fill_but_never_pass_the_size(unit):
    texts = [f"number{i} lower lowest slower slowest newest {i * 37}" for i in range(200)]
    for size in (80, 120):
        assert build_pipeline(texts, TextConfig(unit=unit), vocab_size=size).vocab_size == size


@pytest.mark.parametrize("unit", ["bpe", "wordpiece"])
def test_subwords_know_every_character_they_saw(unit):
    texts = ["the quick brown fox", "我爱北京", "👍 zebra"]
    pipeline = build_pipeline(texts, TextConfig(unit=unit))
    rearranged = ["xobrown kciuq", "京北爱我", "arbez 👍"]
    assert all(pipeline.unk_id not in ids for ids in pipeline.encode_ids(rearranged))
    assert pipeline.unk_id in pipeline.encode_ids(["ж"])[0]


@pytest.mark.parametrize("unit", ["bpe", "wordpiece"])
def test_frequent_words_become_one_subword(unit):
    pipeline = build_pipeline(["station " * 50 + "stone"] * 3, TextConfig(unit=unit))
    assert len(pipeline.encode_ids(["station"])[0]) == 1


@pytest.mark.parametrize("unit", ["bpe", "wordpiece"])
def test_subwords_say_when_the_alphabet_does_not_fit(unit):
    with pytest.raises(
        ConfigError, match="vocab_size 12 cannot hold every character.* needs [0-9]+"
    ):
        build_pipeline(["abcdefghijklmnopqrstuvwxyz"], TextConfig(unit=unit), vocab_size=12)


@pytest.mark.parametrize("unit", ["words", "characters", "bpe", "wordpiece"])
def test_no_text_leaves_the_reserved_tokens(unit):
    pipeline = build_pipeline([], TextConfig(unit=unit))
    assert pipeline.vocab_size == (7 if unit == "wordpiece" else 4)
    assert pipeline.encode_ids(["hello"])[0].count(pipeline.unk_id) >= 1


def test_texts_are_streamed():
    def endless():
        for number in range(10_000):
            yield f"word{number % 10}"
        raise InputError("broken here", source="corpus.txt", row=10_001)

    with pytest.raises(InputError, match=r"corpus\.txt, row 10001: broken here"):
        build_pipeline(endless(), TextConfig())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocab_size": 4}, r"vocab_size must be over 4 \(reserved\), got 4"),
        ({"min_count": 0}, "min_count must be at least 1, got 0"),
    ],
)
def test_limits_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        build_pipeline(["a"], TextConfig(), **arguments)


def test_a_vocabulary_may_be_given():
    pipeline = pipeline_from_words(["the", "cat", "the", "<unk>"], TextConfig())
    assert pipeline.vocabulary()[4:] == ["the", "cat"]
    assert pipeline.encode_ids(["The cat sat"]) == [[4, 5, 1]]


def test_a_word_list_makes_no_subwords():
    with pytest.raises(ValueError, match="cannot make a vocabulary for unit 'bpe'"):
        pipeline_from_words(["the"], TextConfig(unit="bpe"))


def test_same_bytes_whatever_the_hash_seed():
    units = ["words", "characters", "bpe", "wordpiece"]
    if importlib.util.find_spec("jieba"):
        units.append("jieba")
    outputs = {
        subprocess.run(
            [sys.executable, "-c", DIGEST, *units],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == len(units)


def test_order_of_sentences_does_not_matter():
    texts = [f"{a}{b} {b}{a}{a}" for a in "abcdefgh" for b in "mnopqr"]
    for unit in ("words", "bpe", "wordpiece"):
        built = [
            build_pipeline(each, TextConfig(unit=unit), vocab_size=60).tokenizer.to_str()
            for each in (texts, texts[::-1])
        ]
        digests = {hashlib.sha256(text.encode()).hexdigest() for text in built}
        assert len(digests) == 1
