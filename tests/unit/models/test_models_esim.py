"""What ESIM promises beyond the contract: its parts, its dropouts, its errors."""

import pytest
import torch

from softquery.data import PairBatch, Sentences
from softquery.models import Esim, EsimConfig
from softquery.models.esim import PARTS, align, contrast
from softquery.models.pair_output import EncodedSentence

SIZES = {"vocab_size": 12, "embedding_size": 6, "hidden_size": 5}


def batch():
    first, second = Sentences.pack([[2, 3, 4], [5]]), Sentences.pack([[6, 7], [8, 9]])
    rows = torch.arange(2)
    return PairBatch(first.pad(rows, 4), second.pad(rows, 4), torch.tensor([0, 1]))


def test_the_defaults_are_the_papers():
    config = EsimConfig()
    assert (config.hidden_size, config.embedding_size, config.output_size) == (300, 300, 3)
    assert (config.dropout, config.cell, config.parts) == (0.5, "lstm", PARTS)
    assert (config.projection_size, config.composer_size, config.composer) == (0, 0, None)
    assert config.alignment_size == 0


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_left_out_sizes_and_composer_are_the_encoders(cell):
    torch.manual_seed(4)
    plain = Esim(EsimConfig(**SIZES, cell=cell))
    torch.manual_seed(4)
    told = Esim(EsimConfig(**SIZES, cell=cell, composer=cell, projection_size=5, composer_size=5))
    assert plain.state_dict().keys() == told.state_dict().keys()
    for name, value in plain.state_dict().items():
        assert torch.equal(value, told.state_dict()[name]), name


@pytest.mark.parametrize(
    ("composer", "composed"), [("lstm", 14), ("gru", 14), ("feedforward", 7), ("convolution", 7)]
)
def test_every_part_has_its_width(composer, composed):
    model = Esim(EsimConfig(**SIZES, projection_size=3, composer=composer, composer_size=7))
    assert (model.encoder.output_size, model.composer.output_size) == (10, composed)
    project, hidden, last = model.project[0], model.classifier[1], model.classifier[4]
    assert (project.in_features, project.out_features) == (40, 3)
    assert (hidden.in_features, hidden.out_features) == (4 * composed, 7)
    assert last.in_features == 7


@pytest.mark.parametrize("name", ["alignment_size", "projection_size", "composer_size"])
def test_sizes_that_may_be_left_out_are_not_negative(name):
    with pytest.raises(ValueError, match=f"{name} must not be negative, got -1"):
        EsimConfig(**{name: -1})


def test_the_four_parts_stand_in_the_papers_order():
    own, aligned = torch.tensor([[[2.0]]]), torch.tensor([[[3.0]]])
    assert contrast(own, aligned).flatten().tolist() == [2.0, 3.0, -1.0, 6.0]
    assert contrast(own, aligned, ("product", "own")).flatten().tolist() == [6.0, 2.0]


def test_alignment_looks_at_real_tokens_alone():
    torch.manual_seed(1)
    states = torch.randn(1, 3, 4)
    own = EncodedSentence(states, torch.tensor([[True, True, True]]))
    other = EncodedSentence(states, torch.tensor([[True, False, False]]))
    assert align(own, other).weights.tolist() == [[[1.0, 0.0, 0.0]] * 3]
    torch.testing.assert_close(align(own, other).mixed, states[:, :1].expand(1, 3, 4))


def test_own_alone_switches_the_alignment_off():
    torch.manual_seed(2)
    model = Esim(EsimConfig(**SIZES, parts=("own",))).eval()
    output = model(batch())
    assert output.first_to_second is None
    assert output.second_to_first is None
    assert model.project[0].in_features == 10


def test_each_part_takes_its_width():
    for count in (2, 3, 4):
        model = Esim(EsimConfig(**SIZES, parts=PARTS[:count]))
        assert model.project[0].in_features == count * 10


def test_an_ablated_part_is_not_read():
    """Without the product, the model is the whole one whose fourth block of weights is zero."""
    torch.manual_seed(3)
    whole, ablated = Esim(EsimConfig(**SIZES)), Esim(EsimConfig(**SIZES, parts=PARTS[:3]))
    state = whole.state_dict()
    state["project.0.weight"][:, 30:] = 0.0
    whole.load_state_dict(state)
    ablated.load_state_dict({**state, "project.0.weight": state["project.0.weight"][:, :30]})
    torch.testing.assert_close(
        whole.eval()(batch()).logits, ablated.eval()(batch()).logits, rtol=1e-5, atol=1e-6
    )


def test_a_projection_can_be_scored_and_multiplied_in_place_of_the_states():
    torch.manual_seed(4)
    model = Esim(EsimConfig(**SIZES, alignment_size=3)).eval()
    assert model.project[0].in_features == 3 * 10 + 3
    first, second = model.encode(batch().first), model.encode(batch().second)
    assert first.states.shape[-1] == 3 + 10
    projected = model.alignment(first.states[..., 3:])
    torch.testing.assert_close(first.states[..., :3], projected)
    attended = align(first, second, 3)
    wanted = align(first._replace(states=projected), second._replace(states=second.states[..., :3]))
    torch.testing.assert_close(attended.weights, wanted.weights)
    # What was projected before it was mixed is what would be projected afterwards.
    torch.testing.assert_close(attended.mixed[..., :3], model.alignment(attended.mixed[..., 3:]))
    parts = contrast(first.states, attended.mixed, PARTS, 3)
    torch.testing.assert_close(parts[..., 30:], projected * wanted.mixed)
    torch.testing.assert_close(
        parts[..., :30], contrast(first.states[..., 3:], attended.mixed[..., 3:], PARTS[:3])
    )


def test_an_identity_as_the_projection_changes_nothing():
    torch.manual_seed(5)
    plain = Esim(EsimConfig(**SIZES)).eval()
    projected = Esim(EsimConfig(**SIZES, alignment_size=10)).eval()
    projected.load_state_dict({**plain.state_dict(), "alignment.weight": torch.eye(10)})
    torch.testing.assert_close(projected(batch()).logits, plain(batch()).logits)


def test_what_aligns_nothing_has_no_projection_for_it():
    with pytest.raises(ValueError, match=r"parts \('own',\) align nothing, so alignment_size must"):
        EsimConfig(parts=("own",), alignment_size=4)


@pytest.mark.parametrize(("given", "wanted"), [(None, 0.3), (0.0, 0.0), (0.1, 0.1)])
def test_embeddings_have_the_dropout_of_the_rest_unless_told(given, wanted):
    model = Esim(EsimConfig(**SIZES, dropout=0.3, embedding_dropout=given))
    assert model.embedding_dropout.dropout == wanted
    assert model.dropout.dropout == 0.3
    assert [layer.p for layer in model.classifier if isinstance(layer, torch.nn.Dropout)] == [
        0.3,
        0.3,
    ]


def test_linear_layers_start_with_zero_biases():
    model = Esim(EsimConfig(**SIZES))
    for layer in (model.project[0], model.classifier[1], model.classifier[4]):
        assert not layer.bias.any()
        assert layer.weight.any()


@pytest.mark.parametrize("parts", [(), ("own", "other"), ("Own",)])
def test_unknown_parts_are_quoted(parts):
    with pytest.raises(ValueError, match=r"parts must be some of .*'product'\), got \("):
        EsimConfig(parts=parts)


@pytest.mark.parametrize("name", ["output_size", "embedding_size", "hidden_size"])
def test_sizes_must_be_positive(name):
    with pytest.raises(ValueError, match=f"{name} must be positive, got 0"):
        EsimConfig(**{name: 0})


@pytest.mark.parametrize("name", ["dropout", "embedding_dropout"])
def test_dropouts_must_be_probabilities(name):
    with pytest.raises(ValueError, match=rf"{name} must be in \[0, 1\), got 1.5"):
        EsimConfig(**{name: 1.5})


def test_a_model_without_vocabulary_is_not_built():
    with pytest.raises(ValueError, match="vocab_size must be positive, got 0"):
        Esim(EsimConfig())
