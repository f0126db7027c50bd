"""Which words looked at which: shown as the reader wrote them, the same on every backend."""

import numpy as np
import pytest

from small_bundles import TASKS, exported, make_bundle, random_pairs
from softquery.bundle import BundleConfig, read_bundle, write_bundle
from softquery.errors import BundleError, InputError
from softquery.explain import PairAlignment, from_json
from softquery.models import Esim, EsimConfig
from softquery.runtime import load
from softquery.runtime.torch_models import config_of
from softquery.text import TextConfig, build_pipeline

torch = pytest.importorskip("torch")

PAIRS = random_pairs(12, seed=4)
KNOWN = "the cat sat on a mat . don't abc 12 老 人 在 公 园 里"
SIDES = ("first_to_second", "second_to_first")


@pytest.fixture(scope="module", params=["esim", "torch", "int8"])
def matcher(request, float_bundle, plain_bundle, int8_bundle):
    bundles = {"esim": float_bundle, "torch": plain_bundle, "int8": int8_bundle}
    return load(bundles[request.param])


@pytest.fixture(scope="module")
def reading(tmp_path_factory):
    """Matchers that read real words, by what their text settings are."""
    made = {}

    def read(**settings):
        key = str(settings)
        if key not in made:
            folder = tmp_path_factory.mktemp("reading") / "model"
            made[key] = load(_bundle(folder, TextConfig(**settings)))
        return made[key]

    return read


def _bundle(folder, text):
    pipeline = build_pipeline([KNOWN], text)
    torch.manual_seed(1)
    model = Esim(
        EsimConfig(vocab_size=pipeline.vocab_size, embedding_size=8, hidden_size=8, output_size=2)
    )
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="matcher",
            model={"name": "esim", "config": config_of(model)},
            task=TASKS[2],
            text=pipeline.config.to_dict(),
            library_version="0.1.0",
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={key: value.numpy() for key, value in model.state_dict().items()},
        metrics={"accuracy": 0.5},
        card="# reading\n",
    )


def test_weights_fit_the_tokens_and_sum_to_one(matcher):
    for first, second in PAIRS:
        found = matcher.explain(first, second)
        assert (found.first, found.second) == (first, second)
        assert found.first_tokens == tuple(first.split())
        assert found.second_tokens == tuple(second.split())
        sizes = len(found.first_tokens), len(found.second_tokens)
        assert found.first_to_second.shape == sizes
        assert found.second_to_first.shape == sizes[::-1]
        for side in SIDES:
            np.testing.assert_allclose(getattr(found, side).sum(axis=1), 1, rtol=0, atol=1e-5)
        assert found.model == "model"


def test_the_answer_is_the_one_that_predict_gives(float_bundle, plain_bundle):
    for matcher in (load(float_bundle), load(plain_bundle)):
        for pair, answer in zip(PAIRS, matcher.predict(PAIRS), strict=True):
            found = matcher.explain(*pair)
            assert found.label == answer.label
            assert found.score == pytest.approx(answer.score, abs=1e-4)
            assert found.probabilities == pytest.approx(answer.probabilities, abs=1e-4)


def test_the_answer_is_the_one_that_rank_gives(matcher):
    """Both compare one pair of sentences that were encoded alone, so that int8 agrees as well."""
    for first, second in PAIRS:
        found = matcher.explain(first, second).probabilities
        for label in matcher.labels:
            (hit,) = matcher.rank(first, [second], label=label)
            assert found[label] == pytest.approx(hit["score"], abs=1e-6)


def test_backends_align_alike(float_bundle):
    on_torch, on_onnx = (load(float_bundle, backend=name) for name in ("torch", "onnx"))
    for pair in PAIRS:
        wanted, found = on_torch.explain(*pair), on_onnx.explain(*pair)
        assert found.first_tokens == wanted.first_tokens
        for side in SIDES:
            np.testing.assert_allclose(
                getattr(found, side), getattr(wanted, side), rtol=0, atol=1e-5
            )
        assert found.score == pytest.approx(wanted.score, abs=1e-5)


def test_folding_leaves_the_alignment_as_it_was_trained(plain_bundle, float_bundle):
    wanted, found = (load(each).explain(*PAIRS[0]) for each in (plain_bundle, float_bundle))
    for side in SIDES:
        np.testing.assert_allclose(getattr(found, side), getattr(wanted, side), rtol=0, atol=1e-5)


def test_words_are_shown_as_a_reader_knows_them(reading):
    found = reading().explain("The cat sat, Zebra!", "老人在公园里唱歌。")
    assert found.first_tokens == ("the", "cat", "sat", ",", "Zebra", "!")
    assert found.second_tokens == (*"老人在公园里唱歌", "。")


def test_full_width_and_other_scripts(reading):
    found = reading().explain("ＡＢＣ Ｚｏｏ １２", "don’t 😀 𠀀")
    assert found.first_tokens == ("abc", "Ｚｏｏ", "12")  # an unknown one as it stands in the text
    assert found.second_tokens == ("do", "n't", "😀", "𠀀")


@pytest.mark.parametrize("unit", ["words", "characters", "wordpiece"])
def test_no_reserved_token_stands_for_a_word(reading, unit):
    found = reading(unit=unit).explain("Xyzzy plugh!", "龙龍 <unk> ok")
    assert not {"<unk>", "<pad>"} & set(found.first_tokens)
    assert "".join(found.first_tokens).replace("##", "").lower() == "xyzzyplugh!"


def test_what_was_cut_is_not_shown(reading):
    found = reading(max_tokens=4).explain("the cat sat on a mat", "a mat")
    assert found.first_tokens == ("the", "cat", "sat", "on")
    assert found.first_to_second.shape == (4, 2)


def test_a_text_without_a_token_asks_nothing(reading):
    found = reading().explain("", "the cat")
    assert (found.first_tokens, found.first_to_second.shape) == ((), (0, 2))
    assert found.second_to_first.shape == (2, 0)
    assert np.isfinite(found.score)


def test_a_text_that_is_none(reading):
    with pytest.raises(InputError, match="^the second text: expected a string, found None$"):
        reading().explain("the", None)


def test_siamese_models_align_nothing(siamese_bundle, tmp_path):
    for backend in ("onnx", "torch"):
        with pytest.raises(
            BundleError, match=r"model: this model aligns no words, so it shows none$"
        ):
            load(siamese_bundle, backend=backend).explain("w1", "w2")


def test_a_grade_is_explained_too(graded_bundle):
    found = load(graded_bundle).explain("w1 w2", "w3")
    assert (found.label, found.probabilities) == (None, {})
    assert 0 <= found.score <= 5
    assert found.first_to_second.shape == (2, 1)


def test_explaining_changes_no_later_answer(matcher):
    before = matcher.rank(PAIRS[0][0], [PAIRS[0][1], "w1"])
    first = matcher.explain(*PAIRS[0])
    assert matcher.explain(*PAIRS[0]) == first
    assert matcher.rank(PAIRS[0][0], [PAIRS[0][1], "w1"]) == before


def test_data_comes_back_from_a_file(reading, tmp_path):
    found = reading().explain("The cat sat.", "老人 Ｚｏｏ")
    found.plot(tmp_path / "why.json")
    text = (tmp_path / "why.json").read_text(encoding="utf-8")
    assert "老" in text
    assert from_json(text) == found
    assert PairAlignment.from_dict(found.to_dict()) == found


def test_a_gru_is_explained_as_well(tmp_path):
    plain = make_bundle(tmp_path / "plain", size=16, cell="gru")
    there = load(exported(plain, tmp_path / "onnx").bundle, backend="onnx").explain(*PAIRS[1])
    here = load(read_bundle(plain).path).explain(*PAIRS[1])
    for side in SIDES:
        np.testing.assert_allclose(getattr(there, side), getattr(here, side), rtol=0, atol=1e-5)
