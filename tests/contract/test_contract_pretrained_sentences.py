"""What holds for every sentence encoder that is a pretrained encoder with pools."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
import torch
from jaxtyping import TypeCheckError
from torch.nn import functional as F

from softquery.data import Sentences, TaughtBatch, TaughtTexts
from softquery.errors import BundleError
from softquery.models import (
    BertConfig,
    BertSentenceEncoder,
    BertSentenceEncoderConfig,
    MpnetConfig,
    MpnetSentenceEncoder,
    MpnetSentenceEncoderConfig,
    models_of,
)
from softquery.nn import TokenPool
from softquery.runtime.torch_models import build_model, config_of
from softquery.tasks import SentenceDistillation

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
RAGGED = [[2, 5, 6, 7, 8, 9, 10, 3], [2, 3], [2, 8, 9, 10, 4, 4, 5, 6, 7, 8, 3], [2, 11, 1, 4, 3]]
"""Sentences long and short, one of two marks alone, and one that holds the padding token."""
SIZES = {"vocab_size": 12, "hidden_size": 8, "num_layers": 2, "num_heads": 2, "inner_size": 12,
         "max_length": 24}  # fmt: skip
MODELS = {
    "bert-sentence-encoder": (
        BertSentenceEncoder,
        BertSentenceEncoderConfig,
        BertConfig(**SIZES, heads="none", pooler=False),
    ),
    "mpnet-sentence-encoder": (
        MpnetSentenceEncoder,
        MpnetSentenceEncoderConfig,
        MpnetConfig(**SIZES, num_buckets=8, max_distance=6),
    ),
}
SHAPES = [
    {"pools": ("mean",)},
    {"pools": ("cls", "max"), "length": "free"},
    {"pools": ("mean_sqrt_len",), "dense": "tanh"},
    {"pools": ("mean", "cls"), "dense": "identity"},
]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One config of one model."""

    name: str
    shape: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Shown by pytest."""
        return "-".join([self.name, *map(str, self.shape.values())])

    @property
    def output_size(self) -> int:
        return 5 if "dense" in self.shape else 8 * len(self.shape["pools"])

    def build(self, *, dropout: float = 0.0, std: float = 0.3) -> Any:
        """The model in training mode, with wild random weights; its own where `std` is 0."""
        torch.manual_seed(1)
        model, config, encoder = MODELS[self.name]
        encoder = replace(encoder, dropout=dropout, attention_dropout=dropout)
        made = model(config(encoder=encoder, output_size=self.output_size, **self.shape))
        for parameter in made.parameters() if std else ():
            torch.nn.init.normal_(parameter, std=std)
        return made

    def batch(self, texts: list[list[int]] = RAGGED, *, extra_pad: int = 0) -> TaughtBatch:
        generator = torch.Generator().manual_seed(7)
        wanted = torch.randn(len(texts), self.output_size, generator=generator)
        taught = TaughtTexts(Sentences.pack(texts), F.normalize(wanted, dim=-1))
        return taught.batch(torch.arange(len(texts)), max(map(len, texts)) + extra_pad)


CASES = [Case(name=name, shape=shape) for name in MODELS for shape in SHAPES]
every_model = pytest.mark.parametrize("case", CASES, ids=str)


def test_every_model_with_an_encoder_and_every_choice_is_tried():
    found = {name for name, entry in models_of("sentence-encoder").items() if entry.has_encoder}
    assert found == set(MODELS)
    for _, config, _ in MODELS.values():
        for setting, kind in get_type_hints(config).items():
            if get_origin(kind) is Literal:
                tried = {shape.get(setting, getattr(config(), setting)) for shape in SHAPES}
                assert tried == set(get_args(kind)), setting
    assert {pool for shape in SHAPES for pool in shape["pools"]} == set(get_args(TokenPool))


@every_model
def test_vectors(case):
    output = case.build()(case.batch())
    assert output.vectors.shape == (len(RAGGED), case.output_size)
    lengths = output.vectors.norm(dim=-1)
    is_one = torch.allclose(lengths, torch.ones(len(RAGGED)))
    assert is_one == (case.shape.get("length", "one") == "one")


@every_model
def test_padding_and_other_sentences_change_nothing(case):
    model = case.build().eval()
    wanted = model(case.batch()).vectors
    torch.testing.assert_close(model(case.batch(extra_pad=5)).vectors, wanted, **CLOSE)
    turned = model(case.batch(RAGGED[::-1])).vectors.flip(0)
    torch.testing.assert_close(turned, wanted, **CLOSE)
    for place, text in enumerate(RAGGED):
        alone = model(case.batch([text])).vectors[0]
        torch.testing.assert_close(alone, wanted[place], **CLOSE)


@every_model
def test_every_parameter_gets_a_gradient(case):
    model = case.build()
    (model(case.batch()).vectors * case.batch().vectors).sum().backward()
    for name, parameter in model.named_parameters():
        if "key_projection.bias" in name:  # shifts all scores of a query alike
            continue
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


@every_model
def test_dropout_acts_in_training_alone(case):
    model, batch = case.build(dropout=0.5), case.batch()
    assert not torch.equal(model(batch).vectors, model(batch).vectors)
    model.eval()
    assert torch.equal(model(batch).vectors, model(batch).vectors)


@every_model
def test_built_again_from_plain_values_it_is_the_same(case):
    model = case.build().eval()
    again = build_model(case.name, config_of(model))
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.eval()(case.batch()).vectors, model(case.batch()).vectors)


@pytest.mark.parametrize("name", MODELS)
def test_it_learns_four_vectors_by_heart(name):
    case = Case(name=name, shape={"pools": ("mean",), "dense": "identity"})
    model, batch = case.build(std=0), case.batch()
    task = SentenceDistillation(output_size=case.output_size)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(200):
        optimiser.zero_grad()
        task.loss(model(batch), batch).backward()
        optimiser.step()
    assert (model(batch).vectors * batch.vectors).sum(dim=-1).min() > 0.98


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"pools": ()}, "pools must be some of cls, max, mean, mean_sqrt_len, each once"),
        ({"pools": ("mean", "mean")}, "pools must be some of"),
        ({"output_size": 7}, "output_size must be 8, the width of all pools, got 7"),
        ({"output_size": 0, "dense": "tanh"}, "output_size must be positive, got 0"),
    ],
)
def test_what_a_config_refuses(name, settings, said):
    _, config, encoder = MODELS[name]
    with pytest.raises(ValueError, match=said):
        config(encoder=encoder, **{"output_size": 8, **settings})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "settings", [{"pools": ["median"]}, {"length": "long"}, {"dense": "relu"}, {"widht": 3}]
)
def test_what_a_bundle_may_not_say(name, settings):
    config = config_of(Case(name=name, shape={"pools": ("mean",)}).build())
    with pytest.raises((BundleError, TypeCheckError)):
        build_model(name, {**config, **settings})


def test_more_tokens_than_positions_are_refused():
    case = Case(name="mpnet-sentence-encoder", shape={"pools": ("mean",)})
    with pytest.raises(ValueError, match="24 positions were learned, but 30 are asked for"):
        case.build()(case.batch([[2] * 30]))
