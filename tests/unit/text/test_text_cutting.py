"""A corpus is cut into the words that a pipeline of the same settings would see."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import ConfigError
from softquery.text import TextConfig, WordTokenizer, build_pipeline

few = settings(max_examples=150, deadline=None)
UNITS = ("words", "characters", "whitespace")
letters = st.sampled_from(list("abcXYZéß’'.,-\u0301\u00a0\t0123 <>你好电腦𝒳🦊\u200d!?\"n tdo"))
texts = st.one_of(st.text(letters, max_size=40), st.text(max_size=25))


def tokens(text: str, config: TextConfig) -> list[str]:
    """What the pipeline cuts, with a vocabulary that knows every word."""
    pipeline = build_pipeline([text], config)
    return pipeline.encode([text])[0].tokens


@pytest.mark.parametrize("unit", UNITS)
@few
@given(text=texts, lowercase=st.booleans(), simplify=st.booleans())
def test_as_the_pipeline_cuts(unit, text, lowercase, simplify):
    config = TextConfig(unit=unit, lowercase=lowercase, simplify=simplify, max_tokens=999)
    assert WordTokenizer(config).words(text) == tokens(text, config)


@pytest.mark.parametrize("unit", UNITS)
@few
@given(text=texts)
def test_nothing_looks_across_a_space(unit, text):
    cutter = WordTokenizer(TextConfig(unit=unit))
    pieces = [word for piece in text.split(" ") for word in cutter.words(piece)]
    assert pieces == cutter.words(text)


@pytest.mark.parametrize("piece", ["Word", "word,", "end.", "a.", 'say"', "who?", "x)", "no!"])
@pytest.mark.parametrize("unit", ["words", "characters"])
def test_plain_words_take_the_short_way_to_the_same_place(piece, unit):
    config = TextConfig(unit=unit)
    assert WordTokenizer(config).words(piece) == tokens(piece, config)


def test_jieba_cuts_as_the_pipeline_does():
    pytest.importorskip("jieba", reason="Chinese words need the extra [zh]")
    config = TextConfig(unit="jieba", simplify=True)
    text = "我愛北京天安門，don't panic 自然語言處理。"
    assert WordTokenizer(config).words(text) == tokens(text, config)


def test_whitespace_keeps_what_somebody_has_cut():
    config = TextConfig(unit="whitespace", lowercase=False)
    assert WordTokenizer(config).words("do n't <unk> U.S. :-)  end") == [
        "do", "n't", "<unk>", "U.S.", ":-)", "end"
    ]  # fmt: skip


def test_whitespace_decodes_to_the_same_tokens():
    config = TextConfig(unit="whitespace")
    pipeline = build_pipeline(["do n't , ## stop ."], config)
    assert pipeline.decode(pipeline.encode_ids(["do n't , ## stop ."])[0]) == "do n't , ## stop ."


@pytest.mark.parametrize("unit", ["bpe", "wordpiece"])
def test_subwords_are_refused(unit):
    with pytest.raises(ConfigError, match=f"text.unit '{unit}' makes sub-words"):
        WordTokenizer(TextConfig(unit=unit))
