"""Where tokens end, for every unit."""

import pytest

from softquery.text import TextConfig, build_pipeline


def cut(text, unit="words", **settings):
    pipeline = build_pipeline([text], TextConfig(unit=unit, **settings))
    return pipeline.encode([text])[0].tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't", "do n't"),
        ("Don’t!", "do n't !"),
        ("can't won't cannot", "ca n't wo n't cannot"),
        ("he's I'm they're we've you'll she'd", "he 's i 'm they 're we 've you 'll she 'd"),
        ("couldn't've", "could n't 've"),
        ("o'clock O'Neill's", "o'clock o'neill 's"),
        ("the dogs' 'bone'", "the dogs ' ' bone '"),
        ("$3,000.50, 7.", "$ 3,000.50 , 7 ."),
        ("well-known", "well - known"),
        ("the U.S. e.g. this.", "the u.s. e.g. this ."),
        ("mp3 1990s 4th", "mp3 1990s 4th"),
        ("what?!...", "what ? ! . . ."),
        ("snake_case a/b", "snake _ case a / b"),
        ("我爱NLP。", "我 爱 nlp 。"),
        ("タワー", "タ ワ ー"),
        ("한국어 텍스트", "한국어 텍스트"),
        ("שלום עולם", "שלום עולם"),
        ("n't", "n't"),
        ("'s", "' s"),
    ],
)
def test_words(text, expected):
    assert cut(text) == expected.split()


def test_contractions_keep_their_case_where_case_is_kept():
    assert cut("DON'T He'S", lowercase=False) == ["DO", "N'T", "He", "'S"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我爱NLP吗？", "我 爱 nlp 吗 ?"),
        ("２０２４年12月", "2 0 2 4 年 1 2 月"),
        ("don't", "don ' t"),
        ("𠮷野家", "𠮷 野 家"),
    ],
)
def test_characters(text, expected):
    assert cut(text, "characters") == expected.split()


def test_jieba_cuts_chinese_and_leaves_english_to_the_word_rules():
    pytest.importorskip("jieba")
    expected = ["我", "爱", "北京", "天安门", ",", "do", "n't", "café", "u.s."]
    assert cut("我爱北京天安门，don’t café U.S.", "jieba") == expected


def test_jieba_sees_normalised_text():
    pytest.importorskip("jieba")
    assert cut("我愛天安門", "jieba", simplify=True) == ["我", "爱", "天安门"]


@pytest.mark.parametrize("unit", ["words", "characters", "bpe", "wordpiece"])
@pytest.mark.parametrize(
    "text", ["👨\u200d👩\u200d👧", "❤️", "a\u0335", "\u0308", "🇩🇪", "\ufffd", "\ue000"]
)
def test_emoji_marks_and_odd_characters_do_not_vanish(unit, text):
    pipeline = build_pipeline(["plain text"], TextConfig(unit=unit))
    known = build_pipeline([text], TextConfig(unit=unit))
    assert len(pipeline.encode([text])[0].ids) >= 1
    visible = text.replace("\u200d", "")
    assert known.decode(known.encode_ids([text])[0]).replace(" ", "") == visible


@pytest.mark.parametrize("unit", ["words", "characters", "bpe", "wordpiece"])
def test_reserved_tokens_in_the_text_are_ordinary_text(unit):
    pipeline = build_pipeline(["<pad> <unk> <bos> <eos> <mask>"], TextConfig(unit=unit))
    encoded = pipeline.encode(["<pad><unk> <bos> <eos><mask>"])[0]
    assert min(encoded.ids) >= 4
    assert "<pad>" not in encoded.tokens
