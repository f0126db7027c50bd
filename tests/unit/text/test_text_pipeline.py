"""Encoding, limits, offsets, decoding."""

import concurrent.futures
import pickle
import sys

import numpy
import pytest

from softquery.errors import InputError, MissingExtra
from softquery.text import (
    BOS_ID,
    EOS_ID,
    TextConfig,
    build_pipeline,
)

UNITS = ["words", "characters", "jieba", "bpe", "wordpiece"]
SENTENCES = [
    "A man isn't eating 3,000.50 sandwiches in the U.S.",
    "“Quoted” ＦＵＬＬ　ｗｉｄｔｈ cafe\u0301…",
    "我愛北京天安門，他們在玩。",
    "",
    "unseen 👍 \ud83d",
]


@pytest.fixture(scope="module", params=UNITS)
def unit(request):
    if request.param == "jieba":
        pytest.importorskip("jieba")
    return request.param


@pytest.fixture(scope="module")
def pipeline(unit):
    return build_pipeline(SENTENCES[:3], TextConfig(unit=unit, simplify=True))


def test_fast_path_agrees(pipeline):
    assert pipeline.encode_ids(SENTENCES) == [entry.ids for entry in pipeline.encode(SENTENCES)]


def test_tokens_are_the_vocabulary_at_the_ids(pipeline):
    vocabulary = pipeline.vocabulary()
    assert len(vocabulary) == pipeline.vocab_size == len(set(vocabulary))
    for entry in pipeline.encode(SENTENCES):
        assert entry.tokens == [vocabulary[number] for number in entry.ids]


def test_offsets_cover_all_that_is_visible(pipeline):
    for sentence, entry in zip(SENTENCES, pipeline.encode(SENTENCES), strict=True):
        covered = {position for start, end in entry.offsets for position in range(start, end)}
        visible = {place for place, letter in enumerate(sentence) if not letter.isspace()}
        assert covered == visible


def test_one_sentence_alone_or_in_company(pipeline):
    together = pipeline.encode(SENTENCES)
    assert together == [pipeline.encode([sentence])[0] for sentence in SENTENCES]


def test_empty_batch(pipeline):
    assert pipeline.encode([]) == []
    assert pipeline.encode_ids([]) == []


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000", "\u200b", "\x00"])
def test_nothing_visible_is_no_tokens(pipeline, text):
    entry = pipeline.encode([text])[0]
    assert (entry.ids, entry.tokens, entry.offsets, entry.num_cut) == ([], [], [], 0)


def test_many_threads_one_pipeline(pipeline):
    expected = pipeline.encode(SENTENCES)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(found == expected for found in pool.map(pipeline.encode, [SENTENCES] * 40))


def test_survives_pickling_for_worker_processes(pipeline):
    assert pickle.loads(pickle.dumps(pipeline)).encode(SENTENCES) == pipeline.encode(SENTENCES)


def test_boundaries_wrap_every_sentence(unit):
    plain = build_pipeline(SENTENCES, TextConfig(unit=unit))
    wrapped = build_pipeline(SENTENCES, TextConfig(unit=unit, boundaries=True))
    expected = [[BOS_ID, *ids, EOS_ID] for ids in plain.encode_ids(SENTENCES)]
    assert wrapped.encode_ids(SENTENCES) == expected
    for sentence, entry in zip(SENTENCES, wrapped.encode(SENTENCES), strict=True):
        assert entry.ids[0] == BOS_ID
        assert entry.offsets[0] == (0, 0)
        assert entry.offsets[-1] == (len(sentence), len(sentence))


@pytest.mark.parametrize("boundaries", [False, True])
def test_long_sentences_are_cut_and_counted(unit, boundaries):
    whole = build_pipeline(SENTENCES, TextConfig(unit=unit, boundaries=boundaries))
    short = build_pipeline(SENTENCES, TextConfig(unit=unit, boundaries=boundaries, max_tokens=5))
    for long, cut in zip(whole.encode(SENTENCES), short.encode(SENTENCES), strict=True):
        assert len(cut.ids) == len(cut.tokens) == len(cut.offsets) == min(5, len(long.ids))
        assert cut.num_cut == len(long.ids) - len(cut.ids)
        inner = len(cut.ids) - boundaries
        assert cut.ids[:inner] == long.ids[:inner]
        assert cut.offsets[:inner] == long.offsets[:inner]
        assert cut.ids[inner:] == [EOS_ID] * boundaries
    ids, cuts = short.encode_ids_with_cuts(SENTENCES)
    assert ids == [entry.ids for entry in short.encode(SENTENCES)]
    assert cuts == [entry.num_cut for entry in short.encode(SENTENCES)]


def test_offsets_point_into_the_string_as_given():
    pipeline = build_pipeline(["x"], TextConfig(simplify=True))
    text = "“Ｄｏｎ’ｔ”　漢  cafe\u0301 ﬁn"
    spans = pipeline.encode([text])[0].offsets
    assert [text[start:end] for start, end in spans] == [
        "“", "Ｄｏ", "ｎ’ｔ", "”", "漢", "cafe\u0301", "ﬁn",
    ]  # fmt: skip


def test_offsets_of_jieba_words_survive_normalisation():
    pytest.importorskip("jieba")
    pipeline = build_pipeline(["x"], TextConfig(unit="jieba", simplify=True))
    text = "\u200b我愛\u3000ＡＢＣ北\u200b京天安門"
    spans = pipeline.encode([text])[0].offsets
    assert [text[start:end] for start, end in spans] == [
        "我",
        "愛",
        "ＡＢＣ",
        "北\u200b京",
        "天安門",
    ]


def test_offsets_of_decomposed_korean_take_in_the_whole_syllable():
    text = "\u1112\u1161\u11ab x"
    assert build_pipeline(["x"], TextConfig()).encode([text])[0].offsets == [(0, 3), (4, 5)]


def test_decode_writes_english_and_chinese_as_people_do():
    text = "don't panic, he's (really) fine. 我爱北京。"
    pipeline = build_pipeline([text], TextConfig())
    assert pipeline.decode(pipeline.encode_ids([text])[0]) == text


def test_decode_of_bpe_restores_every_space():
    text = 'a "quoted" 3,000.50 well-known thing (he said) — don\'t!'
    pipeline = build_pipeline([text], TextConfig(unit="bpe", boundaries=True), vocab_size=60)
    assert pipeline.decode(pipeline.encode_ids([text])[0]) == text


def test_decode_joins_word_pieces():
    pipeline = build_pipeline(["low lower lowest"], TextConfig(unit="wordpiece"), vocab_size=24)
    entry = pipeline.encode(["lowest slow"])[0]
    assert any(token.startswith("##") for token in entry.tokens)
    assert pipeline.decode(entry.ids) == "lowest slow"


def test_decode_hides_reserved_tokens_but_shows_the_unknown():
    pipeline = build_pipeline(["a b"], TextConfig())
    assert pipeline.decode(numpy.array([2, 4, 1, 5, 3, 0, 0])) == "a <unk> b"


def test_fixed_ids():
    for each in UNITS[:2] + UNITS[3:]:
        pipeline = build_pipeline(["a"], TextConfig(unit=each))
        assert pipeline.vocabulary()[:4] == ["<pad>", "<unk>", "<bos>", "<eos>"]
        assert (pipeline.pad_id, pipeline.unk_id) == (0, 1)
        expected = [4, 5, 6] if each == "wordpiece" else [None, None, None]
        found = [pipeline.token_id(token) for token in ("<cls>", "<sep>", "<mask>")]
        assert found == expected


def test_one_string_is_not_a_batch():
    pipeline = build_pipeline(["a"], TextConfig())
    with pytest.raises(TypeError, match="expected a list of sentences, got one string"):
        pipeline.encode("a sentence")
    with pytest.raises(TypeError, match="expected a list of sentences, got one string"):
        build_pipeline("a sentence", TextConfig())


def test_what_is_no_string_is_named_by_row():
    pipeline = build_pipeline(["a"], TextConfig())
    with pytest.raises(InputError, match="the texts, row 2: expected a string, found None"):
        pipeline.encode_ids(["a", None])


def test_missing_jieba_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(MissingExtra, match=r'pip install "softquery\[zh\]"'):
        build_pipeline(["plain"], TextConfig(unit="jieba"))


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "don't " * 150_000,
        "我" * 300_000,
        "o'ca" * 250_000,
        "n't" * 300_000,
        "a." * 500_000,
        "1," * 500_000,
        "\u0301" * 500_000,
        " " * 1_000_000,
    ],
    ids=lambda text: repr(text[:6]),
)
def test_a_megabyte_in_one_string(text):
    pipeline = build_pipeline(["a b"], TextConfig())
    entry = pipeline.encode([text])[0]
    assert len(entry.ids) <= 128
    assert [entry.ids] == pipeline.encode_ids([text])


@pytest.mark.parametrize("text", ["我" * 100_000, "天安门a" * 20_000, "'" * 50_000])
def test_long_strings_through_jieba(text):
    pytest.importorskip("jieba")
    pipeline = build_pipeline(["x"], TextConfig(unit="jieba"))
    assert len(pipeline.encode_ids([text])[0]) == 128
