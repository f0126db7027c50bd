"""What crosses between a torch model and a search, and what does not."""

import dataclasses
import inspect

import numpy as np
import pytest
import torch
from torch import nn

from softquery.attention import KeyValueCache
from softquery.data import Sentences, TranslationBatch
from softquery.decoding import Beam, Greedy, Ranking, Rules, Sampling, StepRequest, candidates_of
from softquery.models import (
    AskingConfig,
    GeneratorModel,
    Seq2Seq,
    Seq2SeqConfig,
    TorchStep,
    Transformer,
    TransformerConfig,
    generate,
    select_rows,
)
from softquery.models.generator import _candidates
from softquery.models.transformer import presets

WORDS = {"source_vocab_size": 12, "target_vocab_size": 12, "dropout": 0.0}


def transformer(seed=1):
    torch.manual_seed(seed)
    config = TransformerConfig(
        **WORDS, hidden_size=8, num_heads=2, inner_size=8, num_encoder_layers=1,
        num_decoder_layers=2,
    )  # fmt: skip
    return Transformer(config).eval()


def recurrent(seed=1, **settings):
    torch.manual_seed(seed)
    return Seq2Seq(Seq2SeqConfig(**WORDS, embedding_size=5, hidden_size=6, **settings)).eval()


def source(*sentences):
    wrapped = [[2, *sentence, 3] for sentence in sentences]
    length = max(map(len, wrapped))
    return Sentences.pack(wrapped).pad(torch.arange(len(wrapped)), length)


SOURCE = source([4, 5, 6], [7], [8, 9])


def test_both_models_are_generators():
    assert isinstance(transformer(), GeneratorModel)
    assert isinstance(recurrent(), GeneratorModel)


@pytest.mark.parametrize("num_candidates", [1, 3, 12, 99])
@pytest.mark.parametrize("watched", [[], [4, 7]])
def test_candidates_are_those_of_the_whole_vocabulary(num_candidates, watched):
    torch.manual_seed(1)
    logits = torch.randn(4, 12, dtype=torch.float64).float()
    allowed = np.random.default_rng(1).random((4, 12)) < 0.6
    wanted = StepRequest(
        allowed=allowed, num_candidates=num_candidates, watched=np.array(watched, np.int64)
    )
    tokens, values = _candidates(logits, wanted)
    other_tokens, other_values = candidates_of(logits.log_softmax(dim=-1).numpy(), wanted)
    np.testing.assert_allclose(values, other_values, rtol=1e-5)
    is_possible = np.isfinite(values)
    assert (tokens[is_possible] == other_tokens[is_possible]).all()


def test_candidates_of_a_broken_model_are_impossible():
    wanted = StepRequest(allowed=np.ones((1, 12), bool), num_candidates=2)
    _, values = _candidates(torch.full((1, 12), torch.nan), wanted)
    assert (values == -np.inf).all()


def test_only_candidates_cross_to_the_host():
    step = TorchStep(transformer())
    wanted = StepRequest(allowed=np.ones((1, 12), bool), num_candidates=2)
    found = step(step.begin(SOURCE), np.full(3, 2), wanted)
    assert found.tokens.shape == found.log_probabilities.shape == (3, 2)
    assert found.attention is None


def test_rows_of_one_sentence_change_places_without_its_source():
    step = TorchStep(transformer())
    wide = step.reorder(step.begin(SOURCE), np.array([0, 0, 1, 1, 2, 2]))
    assert wide.sentences.tolist() == [0, 0, 1, 1, 2, 2]
    turned = step.reorder(wide, np.array([1, 1, 3, 2, 4, 4]))
    assert turned.source is wide.source
    fewer = step.reorder(turned, np.array([2, 3]))
    assert fewer.source.mask.tolist() == wide.source.mask[2:4].tolist()


def test_rows_that_stay_cost_nothing():
    step = TorchStep(transformer())
    state = step.begin(SOURCE)
    assert step.reorder(state, np.arange(3)) is state


def test_rows_are_selected_in_nested_tuples():
    tree = (torch.arange(3), (None, torch.arange(6).view(3, 2)), torch.arange(3))
    first, (nothing, second), _ = select_rows(tree, torch.tensor([2, 0]))
    assert nothing is None
    assert first.tolist() == [2, 0]
    assert second.tolist() == [[4, 5], [0, 1]]


def test_a_cache_of_selected_rows_is_a_cache():
    past = KeyValueCache(torch.randn(3, 2, 4, 5), torch.randn(3, 2, 4, 5))
    rows = torch.tensor([2, 0, 0, 1])
    (found,) = select_rows((past,), rows)
    assert isinstance(found, KeyValueCache)
    assert found.key.equal(past.key[rows])
    assert found.value.equal(past.value[rows])


@pytest.mark.parametrize(
    "strategy", [Greedy(), Beam(size=3), Sampling(num_samples=2)], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize("make", [transformer, recurrent])
def test_weights_are_shown_on_request(strategy, make):
    found = generate(make(), SOURCE, strategy=strategy, rules=Rules(max_length=4), weights="shown")
    for texts in found:
        for each in texts:
            layers = (2, 2) if make is transformer else ()
            assert each.attention.shape == (len(each.tokens) + 1, *layers, 5)
            np.testing.assert_allclose(each.attention.sum(axis=-1), 1.0, rtol=1e-5)


def test_weights_are_hidden_unless_coverage_needs_them():
    model, rules = transformer(), Rules(max_length=4)
    (plain, *_), *_ = generate(model, SOURCE, strategy=Beam(size=2), rules=rules)
    assert plain.attention is None
    covering = Beam(size=2, ranking=Ranking(coverage=0.3))
    (found, *_), *_ = generate(model, SOURCE, strategy=covering, rules=rules)
    seen = found.attention.mean(axis=(1, 2)).sum(axis=0)
    assert found.score == pytest.approx(
        covering.ranking.score(found.log_probability, len(found.tokens) + 1, seen)
    )


def test_a_model_without_attention_has_no_coverage():
    model = recurrent(context="first_state")
    with pytest.raises(ValueError, match="coverage needs a model that attends"):
        generate(model, SOURCE, strategy=Beam(ranking=Ranking(coverage=0.3)))


def test_no_gradient_is_kept():
    step = TorchStep(recurrent())
    state = step.begin(SOURCE)
    assert not state.source.states.requires_grad


def test_only_unknown_words_and_very_long_sources_are_answered():
    for model in (transformer(), recurrent(), recurrent(attention=AskingConfig(asker="current"))):
        hostile = source([1, 1, 1], [5] * 700, [])
        found = generate(model, hostile, strategy=Beam(size=2), rules=Rules(max_length=5))
        assert all(len(texts[0].tokens) <= 5 for texts in found)


def test_texts_longer_than_the_learned_positions_are_refused_in_words():
    config = TransformerConfig(
        **WORDS, hidden_size=8, num_heads=2, positions="learned", max_length=6
    )
    model = Transformer(config).eval()
    with pytest.raises(ValueError, match="6 positions were learned, but 9 are asked for"):
        generate(model, source([4] * 7), strategy=Greedy())


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (Seq2SeqConfig, {"hidden_size": 0}, "hidden_size must be positive, got 0"),
        (Seq2SeqConfig, {"cell": "lstmm"}, "cell must be one of .*'lstm'.*, got 'lstmm'"),
        (Seq2SeqConfig, {"direction": "up"}, "direction must be one of .*, got 'up'"),
        (Seq2SeqConfig, {"context": "all"}, "context must be one of .*, got 'all'"),
        (Seq2SeqConfig, {"tie": "some"}, "tie must be one of .*, got 'some'"),
        (Seq2SeqConfig, {"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        (Seq2SeqConfig, {"own_words": 2.0}, r"own_words must be in \[0, 1\].*got 2.0 and 0"),
        (AskingConfig, {"asker": "next"}, "asker must be one of .*, got 'next'"),
        (AskingConfig, {"score": "bilinear"}, "score must be one of .*, got 'bilinear'"),
        (AskingConfig, {"hidden_size": -1}, "hidden_size must not be negative, got -1"),
        (TransformerConfig, {"hidden_size": 10}, r"hidden_size \(10\).*num_heads \(8\)"),
        (TransformerConfig, {"norm": "middle"}, "norm must be one of .*, got 'middle'"),
        (TransformerConfig, {"activation": "tanh"}, "activation must be one of .*, got 'tanh'"),
        (TransformerConfig, {"positions": "rotary"}, "positions must be one of .*, got 'rotary'"),
        (TransformerConfig, {"inner_dropout": 1.5}, r"inner_dropout must be in \[0, 1\), got 1.5"),
        (TransformerConfig, {"num_decoder_layers": 0}, "num_decoder_layers must be positive"),
    ],
)
def test_configs_that_cannot_be_are_refused(config, settings, message):
    # Unwrapped, because while tests run the checker of signatures would complain first.
    start = inspect.unwrap(config.__init__)
    with pytest.raises(ValueError, match=message):
        start(config.__new__(config), **settings)


def test_own_words_are_read_in_training_alone():
    model = recurrent(own_words=1.0)
    batch = TranslationBatch(source([4, 5]), source([6, 7, 8]))
    calm = model(batch).logits
    assert torch.equal(model(batch).logits, calm)
    model.train()
    said = model(batch).logits
    torch.testing.assert_close(said[:, 0], calm[:, 0])  # the first word is the beginning
    assert not torch.allclose(model(batch).logits[:, 1:], calm[:, 1:])
    assert model.own_words.steps.item() == 2


def test_with_no_own_words_the_loop_is_teacher_forcing():
    batch = TranslationBatch(source([4, 5]), source([6, 7, 8]))
    for settings in ({"context": "first_state"}, {"context": "every_step"}, {}):
        model = recurrent(own_words=0.5, own_words_rise=10**9, **settings)
        wanted = model(batch)
        found = model.train()(batch)
        torch.testing.assert_close(found.logits, wanted.logits)
        assert (found.attention is None) == (wanted.attention is None)


def test_looks_are_shares_by_layer_and_head():
    model, batch = transformer(), TranslationBatch(SOURCE, source([4, 5], [6], [7, 8, 9]))
    looks = model.look(batch)
    torch.testing.assert_close(looks.logits, model(batch).logits, rtol=1e-5, atol=1e-5)
    assert looks.encoder.shape == (3, 1, 2, 5, 5)
    assert looks.decoder.shape == (3, 2, 2, 4, 4)
    assert looks.source.shape == (3, 2, 2, 4, 5)
    for weights in looks[1:]:
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
    assert not looks.decoder.triu(1).any()


def test_the_published_sizes_have_their_published_numbers_of_parameters():
    """In millions: Vaswani et al. 2017, Table 3, for a joint vocabulary of about 37,000."""
    for name, millions in (("base", 65), ("big", 213)):
        config = presets()[name]
        with torch.device("meta"):
            words = {"source_vocab_size": 37_000, "target_vocab_size": 37_000}
            model = Transformer(dataclasses.replace(config, **words))
        found = sum(parameter.numel() for parameter in model.parameters()) / 1e6
        assert found == pytest.approx(millions, rel=0.04), name


def test_modules_start_as_they_should():
    heads = transformer().encoder[0].attention
    assert all(not layer.bias.any() for layer in heads.children() if isinstance(layer, nn.Linear))
