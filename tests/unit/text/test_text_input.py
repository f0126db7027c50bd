"""Texts as classifiers read them: one sentence, words to be spelt, or documents; and markers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import ConfigError
from softquery.text import TextConfig, TextInput, build_pipeline, pipeline_from_words

PIPELINE = build_pipeline(["a b c d."], TextConfig(max_tokens=3))
READINGS = [TextInput(), TextInput(tokens="words"), TextInput(max_sentences=2)]
few = settings(max_examples=100, deadline=None)


def ids(text):
    return PIPELINE.encode_whole([text])[0]


def test_one_sentence_is_cut_at_the_limit():
    read = TextInput().encode(["a b. C d", "a"], PIPELINE)
    assert [each.sentences for each in read] == [[ids("a b.")], [ids("a")]]
    assert [each.num_cut for each in read] == [2, 0]


def test_words_are_read_as_they_are_spelt():
    read = TextInput(tokens="words").encode(["A B’s", "Ärger"], PIPELINE)
    assert [each.sentences for each in read] == [[["A", "B", "’s"]], [["Ärger"]]]


def test_a_long_sentence_goes_on_in_the_next():
    read = TextInput(max_sentences=9).encode(["A b c d. A."], PIPELINE)[0]
    assert read.sentences == [ids("a b c"), ids("d."), ids("a.")]
    assert read.num_cut == 0


def test_too_many_sentences_are_cut_and_counted():
    read = TextInput(max_sentences=2).encode(["A b! C! D a.", "A."], PIPELINE)
    assert [len(each.sentences) for each in read] == [2, 1]
    assert [each.num_cut for each in read] == [3, 0]


@pytest.mark.parametrize("text", ["", " ", "\u200b", "\n\n", "\u200b \u00ad\n"])
def test_what_cannot_be_seen_is_not_read(text):
    for reading in READINGS:
        read = reading.encode([text], PIPELINE)[0]
        assert not any(read.sentences)
        assert read.num_cut == 0
        assert not any(reading.shown(text, PIPELINE))


def test_boundaries_are_read_and_named():
    pipeline = build_pipeline(["a b"], TextConfig(boundaries=True))
    assert TextInput().shown("A zebra", pipeline) == [["<bos>", "A", "zebra", "<eos>"]]
    assert TextInput().encode(["a b"], pipeline)[0].sentences == [[2, 4, 5, 3]]


@few
@given(st.text(max_size=40))
def test_what_is_shown_is_what_is_read(text):
    for reading in READINGS:
        read, shown = reading.encode([text], PIPELINE)[0].sentences, reading.shown(text, PIPELINE)
        assert [len(sentence) for sentence in read] == [len(sentence) for sentence in shown]


@few
@given(st.lists(st.text(max_size=30), max_size=4))
def test_company_changes_nothing(texts):
    for reading in READINGS:
        together = reading.encode(texts, PIPELINE)
        assert together == [reading.encode([text], PIPELINE)[0] for text in texts]


@few
@given(st.text(st.sampled_from("ab. \nA!"), max_size=40))
def test_what_surely_fits_is_not_cut(text):
    for reading in READINGS:
        if reading.surely_fits(text, PIPELINE):
            assert reading.encode([text], PIPELINE)[0].num_cut == 0


@pytest.mark.parametrize("unit", ["characters", "jieba", "bpe", "wordpiece"])
def test_every_unit_can_be_read(unit):
    if unit == "jieba":
        pytest.importorskip("jieba")
    text = "我爱北京天安门。Don't panic! A B c d e f."
    pipeline = build_pipeline([text] * 3, TextConfig(unit=unit, max_tokens=4))
    for reading in (TextInput(), TextInput(max_sentences=3)):
        read, shown = reading.encode([text], pipeline)[0], reading.shown(text, pipeline)
        assert [len(each) for each in read.sentences] == [len(each) for each in shown]
        assert read.num_cut > 0


def test_a_hundred_thousand_tokens_are_read():
    text = "A b c. " * 25_000
    read = TextInput(max_sentences=64).encode([text], PIPELINE)[0]
    assert len(read.sentences) == 64
    assert read.num_cut == 100_000 - sum(map(len, read.sentences))


MARKERS = ("<e1>", "</e1>", "<e2>", "</e2>")


@pytest.mark.parametrize("unit", ["words", "characters"])
def test_markers_stay_whole(unit):
    text = "the <e1>dog</e1>'s <E2>tail</e2>. <e3> <<e1>>"
    pipeline = build_pipeline([text], TextConfig(unit=unit, markers=MARKERS))
    tokens = pipeline.encode([text])[0].tokens
    assert tokens[:4] == ["the", "<e1>", "dog", "</e1>"]
    assert [token for token in tokens if token in MARKERS] == ["<e1>", "</e1>", "<e2>", "</e2>",
                                                               "<e1>"]  # fmt: skip
    assert tokens[-3:] == ["<", "<e1>", ">"]


def test_other_texts_have_no_markers():
    pipeline = build_pipeline(["<e1>dog</e1>"], TextConfig())
    assert pipeline.encode(["<e1>"])[0].tokens == ["<", "e1", ">"]


def test_the_longest_marker_is_found_and_spelt_as_the_text_is():
    config = TextConfig(markers=("<A>", "<A>>", "＜b＞"))
    tokens = pipeline_from_words(["<a>", "<a>>", "<b>"], config).encode(["<A>> <a> <B>"])[0].tokens
    assert tokens == ["<a>>", "<a>", "<b>"]
    assert TextConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"markers": ("a b",)}, "markers must be texts without spaces"),
        ({"markers": ("",)}, "markers must be texts without spaces"),
        ({"markers": "<e1>"}, "markers must be texts without spaces"),
        ({"markers": (1,)}, "markers must be texts without spaces"),
        ({"markers": ("<e1>",), "unit": "bpe"}, "kept whole by words and characters, not by bpe"),
    ],
)
def test_odd_markers_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        TextConfig(**changes)
    with pytest.raises(ConfigError, match=message):
        TextConfig.from_dict(changes)
