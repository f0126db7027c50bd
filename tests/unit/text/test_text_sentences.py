"""Sentences end where the rules say, and nothing of a text is lost between them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.text import sentence_spans, split_sentences

few = settings(max_examples=200, deadline=None)
MARKS = list(".!?…。！？｡\"'”’)」 \n\tabcABZ我い3,、；-")
texts = st.one_of(st.text(max_size=60), st.text(st.sampled_from(MARKS), max_size=60))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("One! Two? Three", ["One!", "Two?", "Three"]),
        ("Well... Perhaps.", ["Well...", "Perhaps."]),
        ("Well... perhaps.", ["Well... perhaps."]),
        ("“Go!” She went.", ["“Go!”", "She went."]),
        ("“Go!” she said.", ["“Go!” she said."]),
        ("It was. (It had to be.) So it went.", ["It was.", "(It had to be.)", "So it went."]),
        ("He paid 3.50 at example.com. Then left.", ["He paid 3.50 at example.com.", "Then left."]),
        ("Mr. Smith and Dr. Wu met. They spoke.", ["Mr. Smith and Dr. Wu met.", "They spoke."]),
        ("See No. 7, e.g. Fig. 3. Done.", ["See No. 7, e.g. Fig. 3.", "Done."]),
        ("J. R. Smith came. I. did not.", ["J. R. Smith came.", "I. did not."]),
        ("So did I. Then he left.", ["So did I.", "Then he left."]),
        ("In the U.S. The rest", ["In the U.S.", "The rest"]),
        ("7. Item", ["7.", "Item"]),
        ("A line\nand another\r\n\r\nthird", ["A line", "and another", "third"]),
        ("房间很大。服务很好！下次还来？", ["房间很大。", "服务很好！", "下次还来？"]),
        ("他说：“好！”然后走了。", ["他说：“好！”", "然后走了。"]),
        ("太好了!!!我喜欢?真的", ["太好了!!!", "我喜欢?", "真的"]),
        ("价格3.5元，不贵。OK", ["价格3.5元，不贵。", "OK"]),
        ("好，很好；真的……是的", ["好，很好；真的……是的"]),
        ("真的？！天啊", ["真的？！", "天啊"]),
        ("", []),
        (" \n\t ", []),
        ("...", ["..."]),
        ("no end", ["no end"]),
    ],
)
def test_rules(text, wanted):
    assert split_sentences(text) == wanted


@few
@given(texts)
def test_every_visible_character_belongs_to_one_sentence(text):
    spans = sentence_spans(text)
    covered = [place for start, end in spans for place in range(start, end)]
    assert covered == sorted(set(covered))
    assert all(text[place].isspace() for place in set(range(len(text))) - set(covered))


@few
@given(texts)
def test_sentences_are_neither_empty_nor_padded(text):
    for sentence in split_sentences(text):
        assert sentence
        assert sentence == sentence.strip()
        assert "\n" not in sentence


@few
@given(texts)
def test_a_sentence_is_one_sentence(text):
    for sentence in split_sentences(text):
        assert split_sentences(sentence) == [sentence]


@few
@given(st.lists(st.sampled_from(["It rained.", "Why?", "Go!", "好。", "Mr. Wu left."]), max_size=6))
def test_sentences_that_are_put_together_come_apart(sentences):
    assert split_sentences(" ".join(sentences)) == sentences
    assert split_sentences("\n".join(sentences)) == sentences


def test_a_long_text_takes_no_long_time():
    """Each place is looked at once or twice, also where every one could be an end."""
    assert len(split_sentences("Ah. " * 50_000)) == 50_000
    assert len(split_sentences("." * 200_000)) == 1
    assert len(split_sentences(". " * 50_000 + "A")) == 50_001
    assert len(split_sentences('."' * 100_000)) == 1
    assert len(split_sentences("!" * 100_000 + " " * 100_000 + "x")) == 1
