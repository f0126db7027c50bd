"""A language model from left to right goes on from a text, and sees nothing of what follows."""

import numpy as np
import pytest
import torch

from bert_cases import PIECES, BertCase, write_bert
from softquery.bundle import read_bundle
from softquery.bundle.card import usage_lines
from softquery.data import Tokens
from softquery.decoding import Beam, Greedy, Sampling
from softquery.errors import BundleError, ConfigError
from softquery.export.bert import export_encoder
from softquery.runtime import GenerateRequest, load
from softquery.runtime.bulk import BulkAnswers
from softquery.runtime.generate.model import load_generator
from softquery.runtime.task_rows import SOURCES_TO_GENERATE_FROM

LEFT = {"direction": "left", "heads": "words", "pooler": False}
CLS, MARKS = 2, 5


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    """One language model as it was trained, and exported."""
    folder = tmp_path_factory.mktemp("left")
    plain = write_bert(folder / "plain", BertCase(settings=LEFT).build(std=0.3))
    export_encoder(read_bundle(plain), folder / "exported")
    return folder


@pytest.fixture(scope="module")
def model(bundles):
    return BertCase(settings=LEFT).build(std=0.3).eval()


def next_shares(model, ids):
    """Log-probabilities of all pieces but the marks after some pieces, by torch."""
    with torch.no_grad():
        row = torch.tensor([ids])
        states = model.encode(Tokens(row, torch.ones_like(row, dtype=torch.bool))).states
        logits = model.word_logits(states[0, -1:])[0].double()
    logits[:MARKS] = -torch.inf
    return logits.log_softmax(dim=0).numpy()


def ids_of(*pieces):
    return [CLS, *map(PIECES.index, pieces)]


def test_the_likeliest_pieces_follow_one_by_one(bundles, model):
    generator = load_generator(bundles / "exported")
    assert generator.backend.name == "onnx"
    request = GenerateRequest(strategy=Greedy(), max_length=4)
    (found,) = generator.predict(["the cat"], request)
    ids, total = ids_of("the", "cat"), 0.0
    for _ in range(4):
        shares = next_shares(model, ids)
        ids.append(int(shares.argmax()))
        total += shares.max()
    assert found.tokens == tuple(PIECES[each] for each in ids[3:])
    assert found.log_probability == pytest.approx(total, abs=1e-4)
    assert not found.is_cut


def test_torch_writes_what_onnx_writes(bundles):
    for strategy in (Greedy(), Beam(size=3, num_best=2), Sampling(num_samples=3, seed=4)):
        request = GenerateRequest(strategy=strategy, max_length=5)
        ours, theirs = (
            load_generator(bundles / "exported", backend=backend).generate(["the", "a b"], request)
            for backend in ("onnx", "torch")
        )
        assert [[each.tokens for each in texts] for texts in ours] == [
            [each.tokens for each in texts] for texts in theirs
        ]


def test_what_is_sampled_follows_the_model(bundles, model):
    generator = load_generator(bundles / "exported")
    sampling = Sampling(num_samples=2000, seed=1)
    (texts,) = generator.generate(["the"], GenerateRequest(strategy=sampling, max_length=1))
    wanted = np.exp(next_shares(model, ids_of("the")))
    drawn = np.zeros(len(PIECES))
    for each in texts:
        drawn[PIECES.index(each.tokens[0])] += 1 / len(texts)
    assert drawn[:MARKS].sum() == 0
    assert np.abs(drawn - wanted).max() < 0.04


def test_a_row_longer_than_the_model_loses_its_beginning(bundles, model):
    generator = load_generator(bundles / "plain")
    request = GenerateRequest(strategy=Greedy(), max_length=20)  # 16 places
    (found,) = generator.predict(["the cat"], request)
    ids = [PIECES.index(each) for each in found.tokens]
    last = [*ids_of("the", "cat"), *ids[:-1]][-15:]
    assert len(ids) == 20
    assert int(next_shares(model, [CLS, *last]).argmax()) == ids[-1]


def test_rules_of_texts_hold(bundles):
    generator = load_generator(bundles / "exported")
    request = GenerateRequest(strategy=Greedy(), max_length=3, prefix="sat", ban=("a", "b"))
    (found,) = generator.predict(["the cat"], request)
    assert found.tokens[0] == "sat"
    assert not {"a", "b"} & set(found.tokens)


def test_it_is_loaded_as_an_encoder_that_generates(bundles):
    request = GenerateRequest(strategy=Greedy(), max_length=2)
    opened = load(bundles / "exported")
    assert opened.generate(["the"], request) == opened.generator.generate(["the"], request)
    answers = BulkAnswers(opened.generator, request)
    with pytest.raises(ConfigError, match="no targets; softquery evaluate measures its perplexity"):
        opened.generator.log_likelihoods(["the"], ["cat"])
    assert answers.bulk is SOURCES_TO_GENERATE_FROM


def test_its_attention_is_the_past_alone(bundles, model):
    shown = load(bundles / "exported").explain("the cat sat")
    ids = [*ids_of("the", "cat", "sat"), 3]
    row = torch.tensor([ids])
    with torch.inference_mode():
        looks = model.look(Tokens(row, torch.ones_like(row, dtype=torch.bool)))[0].numpy()
    np.testing.assert_allclose(shown.weights, looks, atol=1e-5)
    assert not np.triu(shown.weights, k=1).any()


def test_its_card_shows_it_at_work():
    lines = usage_lines("language-model", "my-lm")
    assert 'softquery generate "A man is" --sample --top-k 40 --model my-lm' in lines
    assert "softquery evaluate my-lm --data texts.txt" in lines


def test_models_that_cannot_go_on_are_refused(bundles, tmp_path):
    bare = write_bert(tmp_path / "bare", BertCase(settings={**LEFT, "heads": "none"}).build())
    with pytest.raises(BundleError, match="kept without its head for words, and cannot go on"):
        load_generator(bare)
    both = write_bert(tmp_path / "both", BertCase().build())
    with pytest.raises(BundleError, match="expected a generator, found kind 'encoder'"):
        load(both).generate(["the"])
    with pytest.raises(BundleError, match="has no source to look at; softquery explain"):
        load_generator(bundles / "exported").explain("the cat")
