"""BERT's own pipeline: cut as `transformers` cuts, whatever the script."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import ConfigError
from softquery.text import (
    BERT_RESERVED,
    TextConfig,
    TextPipeline,
    bert_vocabulary,
    build_pipeline,
    pipeline_from_pieces,
)
from softquery.text.word_pieces import learn_bert_pieces

CORPUS = [
    "The cats aren't sitting on the mat, naïve café-goers said; unbelievable!",
    "我爱北京天安门，真的。カタカナとひらがな",
    "żółw ёлка над рекой 👍👍 한국어 단어",
    "AĀÁ ǅungla İstanbul ﬁne ½ price: 3,000.50€ [brackets] #hash_tag a.b.c",
] * 3
SCRIPTS = (
    "aAbBéÉñŁßſİıǅﬁ½²①ａＡ０ \t\n\u00a0\u3000\u200b\u200d\ufeff\ufffd\x00\x07\u0301\u0308"
    "漢汉字爱𠮷ーカガｶﾞ한국ᄒ\u1161ёЖאבعرب\u0e33\u0915\u093f👍👩🏽#@!?.,:;'\"“”’…—-_/\\|[]()<>$€+=~^`▁"
)
WORDS = ["cats", "mat", "naïve", "[MASK]", "[SEP]", "[CLS]", "[PAD]", "[UNK]", "[mask]", "天安门",
         "ёлка", "한국어", "unbelievable", "x" * 101, "##s", "a" * 99]  # fmt: skip
mixed = st.lists(
    st.one_of(st.sampled_from(WORDS), st.text(st.sampled_from(SCRIPTS), max_size=8)), max_size=8
).map("".join)
anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
FORMS = [(True, None), (False, None), (True, False), (False, True)]
few = settings(max_examples=120, deadline=None)


def config(lowercase=True, strip_accents=None, **changes):
    strips = lowercase if strip_accents is None else strip_accents
    return TextConfig(
        **{"unit": "bert", "lowercase": lowercase, "strip_accents": strips, "boundaries": True,
           "max_tokens": 40, **changes}
    )  # fmt: skip


@cache
def ours(lowercase=True, strip_accents=None):
    return build_pipeline(CORPUS, config(lowercase, strip_accents), vocab_size=260)


@cache
def theirs(lowercase=True, strip_accents=None):
    transformers = pytest.importorskip("transformers", reason="compared with its tokenizer")
    pieces = ours(lowercase, strip_accents).vocabulary()
    settings = {"do_lower_case": lowercase, "strip_accents": strip_accents}
    with TemporaryDirectory() as folder:
        Path(folder, "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
        Path(folder, "tokenizer_config.json").write_text(json.dumps(settings))
        return transformers.BertTokenizerFast.from_pretrained(folder)


@pytest.mark.parametrize("form", FORMS)
@few
@given(text=st.one_of(mixed, anything))
def test_ids_and_tokens_are_those_of_transformers(form, text):
    pipeline, other = ours(*form), theirs(*form)
    wanted = other(text, truncation=True, max_length=40)
    assert pipeline.encode_ids([text]) == [wanted["input_ids"]]
    found = pipeline.encode([text])[0]
    assert found.ids == wanted["input_ids"]
    assert found.tokens == other.convert_ids_to_tokens(wanted["input_ids"])


@few
@given(text=mixed)
def test_pairs_are_those_of_transformers(text):
    """Without their marks, two texts are laid together as a pair is."""
    pipeline, other = ours(), theirs()
    one, two = (pipeline.encode_ids([each])[0] for each in (text[:20], "the mat"))
    found = [*one, *two[1:]]
    wanted = other(text[:20], "the mat")
    assert found == wanted["input_ids"]
    assert [0] * len(one) + [1] * (len(two) - 1) == wanted["token_type_ids"]


def test_reserved_tokens_stand_for_themselves():
    pipeline = ours()
    marks = [pipeline.token_id(mark) for mark in BERT_RESERVED]
    assert marks == [0, 1, 2, 3, 4]
    assert (pipeline.pad_id, pipeline.unk_id) == (0, 1)
    assert pipeline.encode(["the [MASK]."])[0].tokens == ["[CLS]", "the", "[MASK]", ".", "[SEP]"]
    assert pipeline.decode([2, *pipeline.encode_ids(["the cats, said"])[0], 0]) == "the cats, said"


def test_a_published_vocabulary_may_have_them_anywhere(tmp_path):
    pieces = ["[PAD]", "[unused1]", "a", "##b", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pipeline = pipeline_from_pieces(pieces, config())
    assert (pipeline.unk_id, pipeline.encode_ids(["ab ж"])) == (4, [[5, 2, 3, 4, 6]])
    assert pipeline.look_up(["a", "[CLS]", "zebra"]) == [2, 4, 4]
    assert pipeline.decode([5, 2, 3, 4, 6]) == "ab [UNK]"
    pipeline.save(tmp_path)
    assert TextPipeline.load(tmp_path, config()).encode_ids(["ab"]) == [[5, 2, 3, 6]]


def test_of_a_piece_that_stands_there_twice_the_later_place_counts():
    pieces = [*BERT_RESERVED, "a", "b", "a"]
    pipeline = pipeline_from_pieces(pieces, config())
    assert pipeline.encode_ids(["a b"]) == [[2, 7, 6, 3]]
    assert (pipeline.vocab_size, pipeline.vocabulary()[5]) == (8, "[unused 5]")
    assert bert_vocabulary(pipeline.tokenizer) == pipeline.vocabulary()


def test_a_vocabulary_without_a_reserved_token_is_refused():
    with pytest.raises(ConfigError, match=r"the vocabulary lacks \[CLS\], \[MASK\]"):
        pipeline_from_pieces(["[PAD]", "[UNK]", "[SEP]"], config())
    with pytest.raises(ValueError, match="pieces make a vocabulary for unit 'bert', not for 'bpe'"):
        pipeline_from_pieces([], TextConfig(unit="bpe"))


def test_pieces_are_learnt_from_the_text_and_the_same_each_time():
    first, again = (build_pipeline(CORPUS, config(), vocab_size=200) for _ in range(2))
    assert first.tokenizer.to_str() == again.tokenizer.to_str()
    entries = first.vocabulary()
    assert entries[:5] == list(BERT_RESERVED)
    assert len(entries) == len(set(entries)) <= 200
    assert {"the", "##s", "天"} <= set(entries)
    assert not {"##天", "##.", "##，"} & set(entries)  # they stand alone
    assert first.unk_id not in first.encode_ids([CORPUS[0]])[0]


def test_rare_characters_are_not_learnt():
    text = ["the cat sat on the mat"] * 2000 + ["ж"]
    entries = learn_bert_pieces(text, config(), 100, 1)
    assert "ж" not in entries
    assert {"t", "##t", "the", "cat"} <= set(entries)


def test_a_small_vocabulary_keeps_the_most_frequent_characters():
    entries = learn_bert_pieces(["aaa bbb c"] * 9, config(), 9, 1)
    assert entries == [*BERT_RESERVED, "a", "b", "##a", "##b"]


def test_the_file_must_hold_the_reserved_tokens(tmp_path):
    from softquery.errors import BundleError

    ours().save(tmp_path)
    data = json.loads((tmp_path / "tokenizer.json").read_text())
    data["added_tokens"] = []
    del data["model"]["vocab"]["[MASK]"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(BundleError, match=r"expected \[MASK\] at id 4, found None"):
        TextPipeline.load(tmp_path, config())
