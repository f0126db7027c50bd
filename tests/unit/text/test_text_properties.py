"""Laws that hold for any string."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.text import TextConfig, TextPipeline, build_pipeline

UNITS = ["words", "characters", "jieba", "bpe", "wordpiece", "bert"]
CORPUS = [
    "Don't panic, it's 3,000.50 o'clock in the U.S.!",
    "我爱北京天安门",
    "żółw ёлка 👍 한국어",
]

TRICKY = (
    "aN'tTsＡ１1,.-“’ \t\u3000\x00\u200b\u200d\ufeff\u0301\u0308\ud83d\udc00漢汉爱𠮷ーカ"
    "👍ﬁ…½▁#<>İßςﷺ\u1112\u1161\u11ab\u0e33\U0001d15e\u0344"
)
tricky = st.text(alphabet=st.sampled_from(TRICKY), max_size=30)
# Surrogates included: a Python string can hold them.
anything = st.text(alphabet=st.characters(), max_size=40)


@cache
def pipeline(unit, boundaries=False, unicode_form="NFKC", strip_accents=False):
    if unit == "jieba":
        pytest.importorskip("jieba")
    config = TextConfig(
        unit=unit,
        boundaries=boundaries,
        unicode_form=unicode_form,
        strip_accents=strip_accents,
        simplify=True,
        max_tokens=12,
    )
    return build_pipeline(CORPUS, config)


def check(built, text):
    entry = built.encode([text])[0]
    assert [entry.ids] == built.encode_ids([text])
    assert len(entry.ids) == len(entry.tokens) == len(entry.offsets) <= 12
    assert all(0 <= number < built.vocab_size for number in entry.ids)
    assert all(0 <= start <= end <= len(text) for start, end in entry.offsets)
    starts = [start for start, _ in entry.offsets]
    assert starts == sorted(starts)
    assert isinstance(built.decode(entry.ids), str)


@pytest.mark.parametrize("unit", UNITS)
@given(text=st.one_of(tricky, anything))
@settings(max_examples=150, deadline=None)
def test_any_text_can_be_encoded(unit, text):
    check(pipeline(unit), text)


@pytest.mark.parametrize("unit", UNITS)
@given(text=tricky)
@settings(max_examples=60, deadline=None)
def test_any_text_can_be_encoded_under_other_settings(unit, text):
    check(pipeline(unit, boundaries=True, unicode_form="NFC", strip_accents=True), text)


@pytest.mark.parametrize("unit", UNITS)
@given(texts=st.lists(st.one_of(tricky, anything), max_size=4))
@settings(max_examples=30, deadline=None)
def test_any_corpus_makes_a_vocabulary_that_survives_the_disk(unit, texts, tmp_path_factory):
    if unit == "jieba":
        pytest.importorskip("jieba")
    folder = tmp_path_factory.mktemp("saved")
    built = build_pipeline(texts, TextConfig(unit=unit))
    built.save(folder)
    loaded = TextPipeline.load(folder, built.config)
    assert loaded.encode([*texts, *CORPUS]) == built.encode([*texts, *CORPUS])


@given(text=tricky)
@settings(max_examples=100, deadline=None)
def test_what_was_counted_is_known(text):
    built = build_pipeline([text], TextConfig(max_tokens=1000))
    assert built.unk_id not in built.encode_ids([text])[0]
