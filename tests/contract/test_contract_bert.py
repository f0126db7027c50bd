"""What holds for every BERT, whatever its sizes and its heads."""

import dataclasses
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch

from bert_cases import CASES, SEQUENCES, BertCase, masked_batch, packed, tokens, write_bert
from registered import registered
from softquery.bundle import read_bundle
from softquery.data import NONE
from softquery.errors import BundleError
from softquery.models import Bert, BertConfig
from softquery.models.bert import presets
from softquery.runtime.torch_models import build_encoder, load_encoder
from softquery.tasks import MaskedLanguageModel, MaskedScores
from softquery.tasks.masked_language_model import log_probabilities

ENCODERS = registered("encoder")

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
TASK = MaskedLanguageModel()
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def states_of(model, *arguments, **settings):
    with torch.inference_mode():
        return model.eval().encode(*tokens(*arguments, **settings)).states


def loss_of(model, batch):
    return TASK.loss(model(batch), batch)


def test_every_choice_is_tried():
    for setting, kind in get_type_hints(BertConfig).items():
        if get_origin(kind) is Literal:
            tried = {getattr(case.config, setting) for case in CASES} | {"none"}
            assert tried == set(get_args(kind)) | {"none"}, setting


@pytest.mark.parametrize(
    ("name", "millions"),
    [("tiny", 4.4), ("mini", 11.2), ("small", 28.8), ("base", 109.5), ("large", 335.1)],
)
def test_published_sizes_have_their_published_numbers_of_parameters(name, millions):
    """In millions, at the published vocabulary and without heads."""
    config = dataclasses.replace(presets()[name], vocab_size=30_522, heads="none")
    with torch.device("meta"):
        model = Bert(config)
    found = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    assert found == pytest.approx(millions, abs=0.06)


@every_case
def test_states_have_their_shapes(case):
    model = case.build()
    output = model.eval().encode(*tokens())
    assert len(output.layers) == case.config.num_layers + 1
    assert {layer.shape for layer in output.layers} == {(len(SEQUENCES), 10, 8)}
    assert output.states is output.layers[-1]
    assert model.output_size == 8
    assert model.encode_packed(packed()).shape == (28, 8)
    looks = model.look(*tokens())
    assert looks.shape == (
        len(SEQUENCES), case.config.num_layers, case.config.num_heads, 10, 10
    )  # fmt: skip
    mask = tokens()[0].mask
    torch.testing.assert_close(looks.sum(dim=-1)[:, 0, 0][mask], torch.ones(int(mask.sum())))


@every_case
def test_packed_and_padded_are_the_same(case):
    """Forward and backward."""
    model = case.build(std=0.3)
    (_, mask), segments = tokens()
    both = [model.encode(tokens()[0], segments).states[mask], model.encode_packed(packed())]
    torch.testing.assert_close(*both, **CLOSE)
    wanted, found = (
        torch.autograd.grad(states.square().sum(), list(model.embedding.parameters()))
        for states in both
    )
    for one, other in zip(wanted, found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@every_case
def test_padding_changes_nothing(case):
    model = case.build(std=0.3)
    plain, padded = states_of(model), states_of(model, extra_pad=5)
    mask = tokens()[0].mask
    torch.testing.assert_close(padded[:, :10][mask], plain[mask], **CLOSE)


@every_case
def test_order_and_company_change_nothing(case):
    model, order = case.build(std=0.3), [3, 0, 4, 2, 1]
    together = states_of(model)
    shuffled = states_of(model, [SEQUENCES[place] for place in order])
    torch.testing.assert_close(shuffled, together[order], **CLOSE)
    for row, sequence in enumerate(SEQUENCES):
        alone = states_of(model, [sequence])
        torch.testing.assert_close(alone[0], together[row, : len(sequence[0])], **CLOSE)


@every_case
def test_who_sees_whom(case):
    """A changed word is seen from both sides, or only by what follows it."""
    model = case.build(std=0.3)
    ids, segments = SEQUENCES[0]
    changed = [*ids[:3], 20, *ids[4:]]
    one, other = states_of(model, [(ids, segments)]), states_of(model, [(changed, segments)])
    differs = (one - other).abs().amax(dim=-1)[0] > 1e-6
    wanted = [case.config.direction == "both"] * 3 + [True] * 5
    assert differs.tolist() == wanted


@every_case
def test_every_parameter_gets_a_gradient(case):
    model = case.build(std=0.3)
    loss_of(model, masked_batch()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any() or "key_projection.bias" in name, name


@every_case
def test_pretraining_output(case):
    model, batch = case.build(), masked_batch()
    trained = model(batch)
    output = model.eval()(batch)
    assert output.logits.shape == (len(batch.places), case.config.vocab_size)
    torch.testing.assert_close(output.logits, trained.logits)
    words = log_probabilities(output, batch)
    assert (words <= 0).all()
    assert words[-1] == 0  # it only fills up
    if case.config.heads == "words":
        assert output.follows is None
    else:
        assert output.follows.shape == (len(SEQUENCES), 2)


@every_case
def test_words_are_probabilities_over_the_vocabulary(case):
    model, batch = case.build(std=0.3).eval(), masked_batch()
    output = model(batch)
    total = sum(
        log_probabilities(
            output, batch._replace(targets=torch.full_like(batch.targets, word))
        ).exp()
        for word in range(case.config.vocab_size)
    )
    torch.testing.assert_close(total, torch.ones(len(total)), **CLOSE)


@every_case
def test_the_loss_is_the_mean_over_what_counts(case):
    model, batch = case.build(std=0.3).eval(), masked_batch()
    output, scores = model(batch), MaskedScores()
    scores.add(output, batch)
    report = scores.report()
    assert (report["n"], scores.num_words) == (6, int((batch.targets != NONE).sum()))
    assert report["mlm_loss"] == pytest.approx(
        -log_probabilities(output, batch)[:-1].mean().item(), rel=1e-5
    )
    total = report["mlm_loss"] + report.get("nsp_loss", 0.0)
    assert TASK.loss(output, batch).item() == pytest.approx(total, rel=1e-5)
    assert report.get("pairs", 2) == 2
    longer = batch._replace(targets=torch.full_like(batch.targets, NONE))
    assert TASK.loss(output, longer).isfinite()


@every_case
def test_dropout_acts_in_training_alone(case):
    model = case.build(dropout=0.5)
    with torch.no_grad():
        noisy = model.train().encode_packed(packed())
        assert not torch.allclose(model.encode_packed(packed()), noisy)
        calm = model.eval().encode_packed(packed())
        assert torch.equal(model.encode_packed(packed()), calm)


@every_case
def test_a_seed_determines_weights_and_dropout(case):
    losses = []
    for seed in (3, 3, 4):
        model = case.build(dropout=0.5, seed=seed)
        torch.manual_seed(5)
        losses.append(loss_of(model, masked_batch()).item())
    assert losses[0] == losses[1] != losses[2]


@every_case
def test_the_batch_is_left_as_it_was(case):
    model, batch, untouched = case.build(dropout=0.5), masked_batch(), masked_batch()
    loss_of(model, batch).backward()
    assert torch.equal(batch.tokens.ids, untouched.tokens.ids)
    for part, same in zip(batch[1:], untouched[1:], strict=True):
        assert torch.equal(part, same)


@every_case
def test_bfloat16_autocast_is_finite(case):
    model = case.build()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = loss_of(model, masked_batch())
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    model.eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = log_probabilities(model(masked_batch()), masked_batch())
    wanted = log_probabilities(model(masked_batch()), masked_batch())
    torch.testing.assert_close(found, wanted, rtol=0.1, atol=0.1)


@every_case
def test_hidden_words_are_learnt_by_heart(case):
    model, batch = case.build(), masked_batch()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    before = loss_of(model, batch).item()
    for _ in range(120):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        if loss.item() < 0.2:
            break
        loss.backward()
        optimizer.step()
    assert before > 2
    assert loss_of(model, batch).item() < 0.25


def test_a_model_without_heads_encodes_but_predicts_nothing():
    model = BertCase(settings={"heads": "none"}).build()
    assert states_of(model).shape[-1] == 8
    assert model.pool(torch.ones(3, 8)).abs().max() <= 1
    for ask in (lambda: model(masked_batch()), lambda: model.word_logits(torch.zeros(1, 8))):
        with pytest.raises(ValueError, match="has no heads"):
            ask()
    bare = BertCase(settings={"heads": "none", "pooler": False}).build()
    with pytest.raises(ValueError, match="has no pooler"):
        bare.pool(torch.zeros(1, 8))


def test_more_tokens_than_positions_are_refused():
    model = BertCase().build()
    with pytest.raises(ValueError, match="16 positions were learned, but 17 are asked for"):
        model.encode(*tokens(extra_pad=7))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden_size": 0}, "hidden_size must be positive, got 0"),
        ({"num_heads": 5}, r"hidden_size \(768\) must be divisible by num_heads \(5\)"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\)"),
        ({"pooler": False}, "heads 'words\\+next' need the pooler"),
    ],
)
def test_a_config_refuses_what_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        BertConfig(**settings)
    with pytest.raises(BundleError, match=f"bert cannot be built: .*{message}"):
        build_encoder("bert", settings)


def test_unknown_settings_and_models_are_named():
    with pytest.raises(BundleError, match="bert has no setting 'layers'"):
        build_encoder("bert", {"layers": 1})
    with pytest.raises(BundleError, match=r"unknown encoder 'elmo' \(known: bert\)"):
        build_encoder("elmo", {})


def test_a_config_is_frozen_and_takes_keywords_alone():
    for config, _ in ENCODERS.values():
        with pytest.raises(dataclasses.FrozenInstanceError):
            config().hidden_size = 3
        with pytest.raises(TypeError, match="positional"):
            config(3)


@every_case
def test_a_bundle_brings_the_model_back(case, tmp_path):
    model = case.build(dropout=0.5)
    back = load_encoder(read_bundle(write_bert(tmp_path / "model", model)))
    assert not back.training
    assert back.config == model.config
    assert torch.equal(states_of(back), states_of(model))
    assert torch.equal(back(masked_batch()).logits, model.eval()(masked_batch()).logits)


@every_case
def test_a_bundle_whose_sizes_lie_is_refused_in_one_line(case, tmp_path):
    bundle = read_bundle(write_bert(tmp_path / "model", case.build(), inner_size=9))
    with pytest.raises(BundleError, match="does not fit config.json") as caught:
        load_encoder(bundle)
    assert "\n" not in str(caught.value)
