"""Words for masks: on both backends, several masks, candidates, and what is refused."""

import numpy as np
import pytest

from bert_cases import PIECES, BertCase, write_bert
from softquery.answers import filled_record
from softquery.bundle import read_bundle
from softquery.errors import BundleError, ConfigError, InputError
from softquery.export.bert import export_encoder
from softquery.numpy_softmax import softmax
from softquery.runtime import FillRequest, MaskFiller, load, open_filler
from softquery.runtime.bert.backend import BertRow
from softquery.runtime.fill.backend import MaskedRow
from softquery.runtime.fill.masked_texts import MOST_MASKS

MASK, CLS, SEP = 4, 2, 3
ID = {piece: number for number, piece in enumerate(PIECES)}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    """One BERT as it was trained, and exported."""
    folder = tmp_path_factory.mktemp("fill")
    plain = write_bert(folder / "plain", BertCase().build(std=0.3))
    export_encoder(read_bundle(plain), folder / "exported")
    return folder


@pytest.fixture(scope="module")
def filler(bundles):
    return open_filler(bundles / "exported")


def shares(filler, ids, place):
    (found,) = filler.backend.logits([MaskedRow(BertRow.of(ids), [place])])
    return softmax(found[0].astype(np.float64))


def test_a_mask_has_the_likeliest_words_first(filler):
    assert filler.backend.name == "onnx"
    found = filler.fill("the [MASK] sat", top_k=3)
    row = shares(filler, [CLS, ID["the"], MASK, ID["sat"], SEP], 2)
    best = [int(each) for each in np.argsort(-row) if each > MASK][:3]
    assert [each.word for each in found] == [PIECES[each] for each in best]
    assert [each.score for each in found] == pytest.approx([row[each] for each in best])
    assert [each.mask for each in found] == [1, 1, 1]


CASES = [
    BertCase(),
    BertCase(settings={"embedding_size": 6}),
    BertCase(settings={"activation": "relu", "num_layers": 1}),
    BertCase(settings={"activation": "gelu_tanh"}),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_torch_and_onnx_agree(tmp_path, case):
    plain = write_bert(tmp_path / "plain", case.build(std=0.3))
    exported = export_encoder(read_bundle(plain), tmp_path / "exported").bundle
    texts = ["[MASK]", "the [MASK] sat [MASK] a b c d", "ab [MASK]", "a b c d e f [MASK] h"]
    one, other = (
        open_filler(plain, device="cpu"),
        open_filler(exported, threads=2),
    )
    assert (one.backend.name, other.backend.name) == ("torch on cpu", "onnx")
    every = FillRequest(top_k=100)
    for ours, theirs in zip(one.predict(texts, every), other.predict(texts, every), strict=True):
        mine = {(each.mask, each.word): each.score for each in ours}
        yours = {(each.mask, each.word): each.score for each in theirs}
        assert mine == pytest.approx(yours, abs=1e-6)
        assert len(mine) % (len(PIECES) - 5) == 0


def test_texts_together_have_the_same_words_as_alone(filler):
    texts = ["[MASK]", "the [MASK] sat [MASK] a b c d", "ab [MASK]"] * 30
    together = filler.predict(texts)
    for text, found in zip(texts[:3], together, strict=False):
        alone = filler.fill(text)
        assert [each.word for each in alone] == [each.word for each in found]
        assert [each.score for each in alone] == pytest.approx([each.score for each in found])


def test_each_of_several_masks_is_answered_while_the_others_stay(filler):
    found = filler.fill("the [MASK] [MASK]", top_k=2)
    ids = [CLS, ID["the"], MASK, MASK, SEP]
    assert [each.mask for each in found] == [1, 1, 2, 2]
    for each in found:
        assert each.score == pytest.approx(shares(filler, ids, 1 + each.mask)[ID[each.word]])
    word = found[0].word
    start = f"the{word[2:]}" if word.startswith("##") else f"the {word}"
    assert found[0].sentence == f"{start} [MASK]"


def test_a_candidate_of_several_pieces_is_spelt_from_left_to_right(filler):
    found = filler.fill("a [MASK] b", candidates=["cat", "cxy", "sat the"])
    scores = {each.word: each.score for each in found}
    a, b, c, x, y = (ID[each] for each in ("a", "b", "c", "##x", "##y"))
    expected = (
        shares(filler, [CLS, a, MASK, MASK, MASK, b, SEP], 2)[c]
        * shares(filler, [CLS, a, c, MASK, MASK, b, SEP], 3)[x]
        * shares(filler, [CLS, a, c, x, MASK, b, SEP], 4)[y]
    )
    assert scores["cxy"] == pytest.approx(expected)
    assert scores["cat"] == pytest.approx(shares(filler, [CLS, a, MASK, b, SEP], 2)[ID["cat"]])
    assert [each.score for each in found] == sorted(scores.values(), reverse=True)
    assert {each.sentence for each in found} == {"a cat b", "a cxy b", "a sat the b"}
    two = filler.fill("[MASK] [MASK]", candidates=["cxy", "a"])
    assert sorted((each.mask, each.word) for each in two) == [
        (1, "a"), (1, "cxy"), (2, "a"), (2, "cxy"),
    ]  # fmt: skip


def test_sentences_keep_the_spelling_of_the_text(filler):
    found = filler.fill("The  Cat,[MASK]!", candidates=["sat"])
    assert found[0].sentence == "The  Cat,sat!"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the cat", r"^the text: no mask in it; write \[MASK\] where a word is asked for$"),
        ("", "no mask in it"),
        ("the ___ sat", r'write \[MASK\] instead of "___"$'),
        ("the <mask> sat", r'unknown mark "<mask>"; this model\'s is \[MASK\]$'),
        ("the [MASK] [mask]", r'unknown mark "\[mask\]"'),
        ("the [MASK] [SEP] a", r"\[SEP\] is a mark that the model sets itself; remove it$"),
        ("[MASK]" + " a" * 14, "17 pieces with the marks at both ends; the model reads at most 16"),
    ],
)
def test_texts_that_cannot_be_filled_are_refused(filler, text, said):
    with pytest.raises(InputError, match=said):
        filler.fill(text)
    with pytest.raises(InputError, match="^the texts, row 2: "):
        filler.predict(["[MASK]", text])


def test_many_masks_are_refused(tmp_path):
    model = BertCase(settings={"max_length": 128}).build()
    bundle = write_bert(tmp_path / "long", model)
    changed = read_bundle(bundle)
    changed.config.text["max_tokens"] = 128
    with pytest.raises(InputError, match=f"65 masks; a text may hold {MOST_MASKS}$"):
        open_filler(changed, device="cpu").fill("[MASK] " * 65)


def test_candidates_that_cannot_be_scored_are_refused(filler):
    with pytest.raises(ConfigError, match="the candidate 'Ω' cannot be spelt with the pieces"):
        filler.fill("[MASK]", candidates=["a", "Ω"])
    with pytest.raises(ConfigError, match="candidates must be a list of words, got 'a'"):
        filler.fill("[MASK]", candidates="a")
    with pytest.raises(ConfigError, match="a candidate is empty"):
        filler.fill("[MASK]", candidates=["a", " "])
    with pytest.raises(ConfigError, match="1,001 candidates; at most 1,000"):
        filler.fill("[MASK]", candidates=[str(number) for number in range(1001)])
    with pytest.raises(ConfigError, match="top_k must be at least 1, got 0"):
        filler.fill("[MASK]", top_k=0)
    with pytest.raises(
        InputError, match="16 pieces .*, and a candidate 3; the model reads at most 16"
    ):
        filler.fill("[MASK]" + " a" * 13, candidates=["cxy"])
    with pytest.raises(TypeError, match="expected a text, got list"):
        filler.fill(["[MASK]"])


def test_an_opened_encoder_fills_masks_too(bundles):
    embedder = load(bundles / "exported")
    found = embedder.fill("the [MASK] sat", top_k=1)
    assert isinstance(embedder.filler, MaskFiller)
    assert filled_record("the [MASK] sat", found)["masks"][0][0]["word"] == found[0].word


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"heads": "none"}, "was kept without its head for hidden words, and cannot fill masks$"),
        (
            {"direction": "left", "heads": "words", "pooler": False},
            "reads from left to right, and cannot see what follows a mask; softquery generate",
        ),
    ],
)
def test_models_that_cannot_fill_are_refused(tmp_path, settings, said):
    bundle = write_bert(tmp_path / "bert", BertCase(settings=settings).build())
    with pytest.raises(BundleError, match=said):
        open_filler(bundle)


def test_an_encoder_without_a_head_is_exported_without_the_graph(tmp_path):
    bundle = write_bert(tmp_path / "bert", BertCase(settings={"heads": "none"}).build())
    exported = export_encoder(read_bundle(bundle), tmp_path / "exported").bundle
    assert not (exported / "onnx" / "fill.onnx").exists()


def test_a_bundle_of_an_earlier_version_is_filled_by_torch(bundles, tmp_path):
    plain = read_bundle(bundles / "plain")
    earlier = export_encoder(plain, tmp_path / "earlier").bundle
    (earlier / "onnx" / "fill.onnx").unlink()
    assert open_filler(earlier).backend.name.startswith("torch")
    with pytest.raises(BundleError, match="exported without a graph for masks; export it again$"):
        open_filler(earlier, backend="onnx")
