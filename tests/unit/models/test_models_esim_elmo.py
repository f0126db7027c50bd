"""ESIM with ELMo inside: at the input, beside the encoder's states, or both."""

import pytest
import torch

from elmo_cases import ENTRIES, ElmoCase
from softquery.data import PairBatch, Tokens
from softquery.errors import BundleError
from softquery.models import Esim, EsimConfig
from softquery.nn import ElmoSettings
from softquery.runtime.torch_models import build_model, config_of
from softquery.text import spell_vocabulary

IDS = torch.tensor([[5, 9, 4, 0], [7, 0, 0, 0], [13, 12, 11, 10]])
SIDES = [Tokens(IDS, IDS != 0), Tokens(IDS.flip(0), IDS.flip(0) != 0)]
BATCH = PairBatch(*SIDES, torch.tensor([0, 1, 0]))
PLACES = [("input",), ("output",), ("input", "output")]
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def make(places, **settings):
    bilm = ElmoCase(softmax={"kind": "none"}).build()
    characters = torch.from_numpy(spell_vocabulary(ENTRIES, 9))
    chosen = ElmoSettings(places=places, dropout=0.0, **settings)
    embedder = chosen.embedder(bilm, characters, word_size=5, ends="added")
    torch.manual_seed(1)
    config = EsimConfig(vocab_size=len(ENTRIES), embedding_size=5, hidden_size=6, output_size=2,
                        dropout=0.0)  # fmt: skip
    return Esim(config, embedder)


@pytest.mark.parametrize("size", [0, 3])
@pytest.mark.parametrize("places", PLACES, ids="+".join)
def test_shapes_and_gradients(places, size):
    model = make(places, tuning="tuned", size=size)
    output = model(BATCH)
    assert output.logits.shape == (3, 2)
    assert model.encode(SIDES[0]).states.shape == (3, 4, 12 + (size or 8) * ("output" in places))
    torch.nn.functional.cross_entropy(output.logits, BATCH.label).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


@pytest.mark.parametrize("size", [0, 3])
@pytest.mark.parametrize("places", PLACES, ids="+".join)
def test_padding_company_and_parts_change_nothing(places, size):
    model = make(places, size=size).eval()
    wanted = model(BATCH).logits
    longer = [side.pad_to(7) for side in SIDES]
    torch.testing.assert_close(model(PairBatch(*longer, None)).logits, wanted, **CLOSE)
    alone = [Tokens(side.ids[2:], side.mask[2:]) for side in SIDES]
    torch.testing.assert_close(model(PairBatch(*alone, None)).logits, wanted[2:], **CLOSE)
    apart = model.compare(model.encode(SIDES[0]), model.encode(SIDES[1]))
    torch.testing.assert_close(apart.logits, wanted, **CLOSE)


def test_a_bundle_that_asks_for_too_wide_a_projection_is_told():
    settings = config_of(make(("input",)))
    settings["embedder"]["settings"]["size"] = 10**12
    with pytest.raises(BundleError, match="^embedder cannot be built: its sizes need too much"):
        build_model("esim", settings)


def test_what_is_added_at_the_output_takes_part_in_the_alignment():
    model = make(("output",)).eval()
    before = model(BATCH).first_to_second
    model.embedder.mixes["output"].scale.data.fill_(20.0)
    assert not torch.allclose(model(BATCH).first_to_second, before)


@pytest.mark.parametrize("places", PLACES, ids="+".join)
def test_a_config_brings_the_whole_back(places):
    model = make(places, normalise=True, learn_scale=False).eval()
    back = build_model("esim", config_of(model))
    back.load_state_dict(model.state_dict())
    torch.testing.assert_close(back.eval()(BATCH).logits, model(BATCH).logits)
    assert config_of(back) == config_of(model)
    assert config_of(back)["embedder"]["config"]["softmax"] == {"kind": "none"}


def test_a_nested_config_that_lies_is_told():
    settings = config_of(make(("input",)))
    settings["embedder"]["settings"]["place"] = "input"
    with pytest.raises(BundleError, match="embedder has no setting 'place'"):
        build_model("esim", settings)
    del settings["embedder"]["ends"]
    with pytest.raises(BundleError, match="embedder cannot be built: .*'ends'"):
        build_model("esim", settings)


def test_settings_refuse_what_cannot_be():
    with pytest.raises(ValueError, match=r"dropout must be in \[0, 1\)"):
        ElmoSettings(dropout=1.0)
    with pytest.raises(ValueError, match="penalty must not be negative"):
        ElmoSettings(penalty=-1.0)
