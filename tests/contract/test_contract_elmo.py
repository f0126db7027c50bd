"""What holds for every biLM, whatever its sizes and its softmax."""

import dataclasses
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch

from elmo_cases import CASES, ENTRIES, SENTENCES, SIMPLE, SMALL, ElmoCase, spelt, text
from registered import registered
from small_elmo import write_elmo
from softquery.bundle import read_bundle
from softquery.errors import BundleError
from softquery.models import CharacterConfig, Elmo, ElmoConfig, SoftmaxConfig
from softquery.models.elmo import presets
from softquery.runtime.embed.evaluate import text_likelihood
from softquery.runtime.torch_models import build_embedder, load_embedder
from softquery.tasks import LanguageModel

EMBEDDERS = registered("embedder")

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
TASK = LanguageModel()
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def layers_of(model, *arguments, **settings):
    with torch.inference_mode():
        return model.eval().encode(*spelt(*arguments, **settings)).layers


def loss_of(model, batch):
    return TASK.loss(model(batch), batch)


def test_every_choice_is_tried():
    for part, name in ((ElmoConfig, "settings"), (SoftmaxConfig, "softmax"),
                       (CharacterConfig, "characters")):  # fmt: skip
        for setting, kind in get_type_hints(part).items():
            if get_origin(kind) is Literal:
                default = getattr(part(), setting)
                tried = {getattr(case, name).get(setting, default) for case in CASES}
                assert tried | {"none"} == set(get_args(kind)) | {"none"}, setting


def test_published_sizes_have_their_published_numbers_of_parameters():
    """In millions, as the models are listed; those of the softmax do not count."""
    for name, millions in (("original", 93.6), ("medium", 28.0), ("small", 13.6)):
        with torch.device("meta"):
            model = Elmo(presets()[name])
        found = sum(parameter.numel() for parameter in model.parameters()) / 1e6
        assert found == pytest.approx(millions, abs=0.06), name


@every_case
def test_layers_have_their_shapes(case):
    model = case.build()
    found = layers_of(model)
    assert found.shape == (case.config.num_layers + 1, len(SENTENCES), 7, 8)
    assert found.dtype == torch.float32
    assert (model.num_layers, model.output_size) == (found.shape[0], found.shape[3])
    torch.testing.assert_close(found[0, ..., :4], found[0, ..., 4:])


@every_case
def test_likelihoods_have_their_shapes_and_are_probabilities(case):
    model = case.build()
    for mode in (True, False):
        output = model.train(mode)(case.batch(model))
        assert output.forwards.shape == output.backwards.shape == (2, 6)
        assert (output.forwards <= 0).all()
        assert (output.backwards <= 0).all()


@every_case
def test_every_parameter_gets_a_gradient(case):
    model = case.build()
    loss_of(model, case.batch(model)).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.numel() == 0 or parameter.grad.any(), name
    assert not model.reader.table.weight.grad[0].any()


@every_case
def test_layers_are_counted_from_what_stands_on_the_bilm(case):
    model = case.build()
    found = {name: model.layers_above(name) for name, _ in model.named_parameters()}
    highest = model.config.num_layers
    assert set(found.values()) - {0} == set(range(1, highest + 2))
    assert found["reader.table.weight"] == highest + 1
    for stack in ("forwards", "backwards"):
        assert found[f"{stack}.layers.0.bias"] == highest
        assert found[f"{stack}.layers.{highest - 1}.bias"] == 1
    assert all((above == 0) == name.startswith("softmax.") for name, above in found.items())


@every_case
def test_padding_changes_nothing(case):
    model = case.build()
    plain, padded = layers_of(model), layers_of(model, extra_pad=5)
    torch.testing.assert_close(padded[:, :, :7], plain, **CLOSE)
    assert not padded[:, :, 7:].any()


@every_case
def test_order_and_company_in_the_batch_change_nothing(case):
    model, order = case.build(), [3, 0, 4, 2, 1]
    together = layers_of(model)
    shuffled = layers_of(model, [SENTENCES[place] for place in order])
    torch.testing.assert_close(shuffled, together[:, order], **CLOSE)
    for row, sentence in enumerate(SENTENCES):
        alone = layers_of(model, [sentence])
        torch.testing.assert_close(alone[:, 0], together[:, row, : len(sentence) + 2], **CLOSE)


@every_case
def test_nothing_is_remembered_between_calls(case):
    model = case.build()
    before = layers_of(model)
    layers_of(model, [["and", "a", "dog"]])
    assert torch.equal(layers_of(model), before)


@every_case
def test_a_state_is_carried_on_only_where_it_is_given(case):
    model = case.build().eval()
    characters, mask = spelt()
    fresh = model.encode(characters, mask)
    assert fresh.state is None
    first = model.encode(characters, mask, model.initial_state(len(SENTENCES)))
    torch.testing.assert_close(first.layers, fresh.layers, **CLOSE)
    second = model.encode(characters, mask, first.state)
    assert not torch.allclose(second.layers[1], fresh.layers[1])
    torch.testing.assert_close(second.layers[0], fresh.layers[0], **CLOSE)


@every_case
def test_each_direction_looks_one_way(case):
    """A changed word is seen by what follows it forwards, and by what precedes it backwards."""
    model = case.build()
    one, other = (layers_of(model, [["the", "cat", word, "on"]])[1, 0] for word in ("sat", "dog"))
    same = (one - other).abs().amax(dim=-1, keepdim=True) < 1e-6
    assert not same[3]
    torch.testing.assert_close(one[:3, :4], other[:3, :4], **CLOSE)
    torch.testing.assert_close(one[4:, 4:], other[4:, 4:], **CLOSE)
    assert not torch.allclose(one[4:, :4], other[4:, :4])
    assert not torch.allclose(one[:3, 4:], other[:3, 4:])


@every_case
def test_windows_with_their_state_are_the_text_at_once(case):
    model = case.build().eval()
    streams = text()
    at_once = text_likelihood(model, streams, unroll=1000)
    for unroll in (1, 4, 7):
        cut = text_likelihood(model, streams, unroll=unroll)
        assert cut.forwards == pytest.approx(at_once.forwards, rel=1e-4)
        assert cut.backwards == pytest.approx(at_once.backwards, rel=1e-4)
        assert cut.num_forwards == at_once.num_forwards


@every_case
def test_streams_do_not_see_each_other(case):
    model = case.build().eval()
    both = model(case.batch(model))
    streams = text()
    alone = streams.batch(streams.slot(0, 6).rows[1:], 6)._replace(state=model.initial_state(1))
    torch.testing.assert_close(model(alone).forwards, both.forwards[1:], **CLOSE)


@every_case
def test_what_is_measured_is_against_all_words(case):
    """Over every word that can come, probabilities add up to one, samples or none."""
    model = case.build().eval()
    batch = case.batch(model)
    possible = range(1, len(ENTRIES))
    total = sum(
        model(batch._replace(forward_targets=torch.full((2, 6), word))).forwards.exp()
        for word in possible
    )
    if model.config.softmax.kind == "adaptive":  # it spares a place for padding, too
        assert (total <= 1 + 1e-5).all()
    else:
        torch.testing.assert_close(total, torch.ones(2, 6), **CLOSE)
    table = model.word_table()
    if table is not None:
        torch.testing.assert_close(model(batch, table).forwards, model(batch).forwards, **CLOSE)


@every_case
def test_dropout_acts_in_training_alone(case):
    model = case.build(dropout=0.5)
    batch = case.batch(model)
    with torch.no_grad():
        noisy = model.train().read(batch)[0]
        assert not torch.allclose(model.read(batch)[0], noisy)
        calm = model.eval().read(batch)[0]
        assert torch.equal(model.read(batch)[0], calm)
    model = case.build(dropout=0.0)
    torch.testing.assert_close(model.train().read(batch)[0], model.eval().read(batch)[0], **CLOSE)


@every_case
def test_a_seed_determines_weights_dropout_and_samples(case):
    first, second, other = (case.build(dropout=0.5, seed=seed) for seed in (3, 3, 4))
    losses = []
    for model in (first, second, other):
        torch.manual_seed(5)
        losses.append(loss_of(model, case.batch(model)).item())
    assert losses[0] == losses[1] != losses[2]


@every_case
def test_the_batch_is_left_as_it_was(case):
    model = case.build(dropout=0.5)
    batch, untouched = case.batch(model), case.batch(model)
    loss_of(model, batch).backward()
    for part, same in zip(batch[:6], untouched[:6], strict=True):
        assert torch.equal(part, same)
    assert not batch.state.forwards.hidden.any()


@every_case
def test_bfloat16_autocast_is_finite(case):
    model = case.build()
    batch = case.batch(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = loss_of(model, batch)
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    model.eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model(batch).forwards.float()
    torch.testing.assert_close(found, model(batch).forwards, rtol=0.1, atol=0.1)


@every_case
def test_a_short_text_is_learnt_by_heart(case):
    model = case.build()
    streams = text(1, lines=SIMPLE)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    before = text_likelihood(model, streams).report()["perplexity"]
    # Tight clips and the narrow clusters of so small a model can hold but a part of it.
    is_narrow = case.softmax.get("kind") == "adaptive" or case.config.cell_clip == 0.1
    wanted = 8 if is_narrow else 3
    for step in range(240):
        if step % 10 == 9 and text_likelihood(model, streams).report()["perplexity"] < wanted:
            break
        optimizer.zero_grad()
        batch = streams.batch(streams.slot(0, 10).rows, 10)
        loss_of(model, batch._replace(state=model.initial_state(1))).backward()
        optimizer.step()
    after = text_likelihood(model, streams).report()["perplexity"]
    assert before > 8
    assert after < wanted, (before, after)


def test_a_model_without_a_softmax_embeds_but_predicts_nothing():
    case = ElmoCase(softmax={"kind": "none"})
    model = case.build()
    assert model.softmax is None
    assert model.word_table() is None
    assert layers_of(model).shape[0] == 3
    with pytest.raises(ValueError, match="has no softmax"):
        model(case.batch(model))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden_size": 0}, "hidden_size must be positive, got 0"),
        ({"num_layers": 0}, "num_layers must be positive"),
        ({"cell_clip": -1.0}, "cell_clip and projection_clip must not be negative"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\)"),
    ],
)
def test_a_config_refuses_what_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        ElmoConfig(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"projection_size": 4096}, r"projection_size \(4096\) must be below hidden_size \(4096\)"),
        ({"characters": {"widths": [1, 2]}}, "must be positive pairs"),
        ({"characters": {"max_characters": 5}}, r"max_characters \(5\) must hold the widest"),
        ({"characters": {"size": 0}}, "must be positive"),
        ({"characters": {"max_characters": 2}}, "max_characters must be at least 3, got 2"),
        ({"softmax": {"num_samples": -1}}, "must not be negative"),
    ],
)
def test_a_bundle_that_cannot_be_built_is_told(settings, message):
    with pytest.raises(BundleError, match=f"elmo cannot be built: .*{message}"):
        build_embedder("elmo", settings)


def test_unknown_settings_and_models_are_named():
    with pytest.raises(BundleError, match="elmo has no setting 'heads'"):
        build_embedder("elmo", {"heads": 1})
    with pytest.raises(BundleError, match="elmo.characters has no setting 'width'"):
        build_embedder("elmo", {"characters": {"width": 1}})
    with pytest.raises(BundleError, match=r"unknown embedder 'esim' \(known: elmo\)"):
        build_embedder("esim", {})


@every_case
def test_a_bundle_brings_the_model_back(case, tmp_path):
    model = case.build(dropout=0.5)
    back = load_embedder(read_bundle(write_elmo(tmp_path / "model", model)))
    assert not back.training
    assert back.config == model.config
    assert torch.equal(layers_of(back), layers_of(model))
    batch = case.batch(model)
    assert torch.equal(back(batch).forwards, model.eval()(batch).forwards)


@every_case
def test_a_bundle_whose_sizes_lie_is_refused_in_one_line(case, tmp_path):
    bundle = read_bundle(write_elmo(tmp_path / "model", case.build(), hidden_size=9))
    with pytest.raises(BundleError, match="does not fit config.json") as caught:
        load_embedder(bundle)
    assert "\n" not in str(caught.value)


def test_a_config_is_frozen_and_takes_keywords_alone():
    for name, (config, _) in EMBEDDERS.items():
        with pytest.raises(dataclasses.FrozenInstanceError):
            config().hidden_size = 3
        with pytest.raises(TypeError, match="positional"):
            config(3)
        assert name == "elmo"


def test_fast_and_exact_agree_where_no_clip_binds():
    weights = ElmoCase().build().state_dict()
    found = []
    for way in ("exact", "fast"):
        model = Elmo(dataclasses.replace(SMALL, way=way, softmax=SoftmaxConfig(num_samples=4)))
        model.load_state_dict(weights)
        found.append(layers_of(model))
    torch.testing.assert_close(*found, **CLOSE)
