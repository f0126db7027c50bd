"""BERT against `transformers`: the same weights give the same states, losses and gradients."""

import pytest
import torch

pytest.importorskip("transformers", reason="the other BERT is that of transformers")

import transformers
from safetensors.torch import load_file

from bert_cases import PIECES, SEQUENCES, packed, tokens
from softquery.bundle import read_bundle
from softquery.data import NONE, MaskedBatch
from softquery.interop import import_bert, publish_bert
from softquery.interop.bert_config import names, plain
from softquery.runtime.torch_models import config_of, load_encoder
from softquery.tasks import MaskedLanguageModel

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
SIZES = {
    "vocab_size": len(PIECES), "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 3,
    "intermediate_size": 20, "max_position_embeddings": 16, "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0, "initializer_range": 0.3,
}  # fmt: skip
ACTIVATIONS = ["gelu", "gelu_new", "relu"]
both_modes = pytest.mark.parametrize("mode", ["train", "eval"])


def save(folder, kind=None, *, seed=1, **settings):
    """A random one of theirs in a folder."""
    torch.manual_seed(seed)
    theirs = (kind or transformers.BertForPreTraining)(
        transformers.BertConfig(**{**SIZES, **settings})
    )
    with torch.no_grad():
        for parameter in theirs.parameters():  # biases and normalisations are not tried by zeros
            parameter.add_(0.1 * torch.randn_like(parameter))
    theirs.save_pretrained(folder)
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES))
    return theirs


def ours_of(folder, output):
    return load_encoder(read_bundle(import_bert(folder, output)))


def pretraining_batch():
    """The same hidden words in both forms."""
    (ids, mask), segments = tokens()
    laid = packed()
    flat = mask.flatten().nonzero().flatten()
    places = torch.tensor([1, 2, 6, 9, 14, 17, 24])
    labels = torch.full_like(ids, NONE).flatten()
    labels[flat[places]] = laid.ids[places]
    hidden = ids.flatten().clone()
    hidden[flat[places]] = 4
    follows = torch.tensor([1, 0, 1, 0, 0])
    batch = MaskedBatch(
        laid._replace(ids=hidden[flat]),
        places,
        laid.ids[places],
        laid.packing.starts[:-1].long(),
        follows,
    )
    inputs = {
        "input_ids": hidden.view_as(ids),
        "attention_mask": mask.long(),
        "token_type_ids": segments,
    }
    # Their label 0 is for a text that follows.
    return batch, inputs, {"labels": labels.view_as(ids), "next_sentence_label": 1 - follows}


@both_modes
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_states_pooled_and_logits(mode, activation, tmp_path):
    theirs = save(tmp_path / "theirs", hidden_act=activation)
    ours = ours_of(tmp_path / "theirs", tmp_path / "ours")
    getattr(theirs, mode)()
    getattr(ours, mode)()
    _, inputs, _ = pretraining_batch()
    wanted = theirs(**inputs, output_hidden_states=True)
    (_, mask), segments = tokens()
    found = ours.encode(tokens()[0]._replace(ids=inputs["input_ids"]), segments)
    for one, other in zip(found.layers, wanted.hidden_states, strict=True):
        torch.testing.assert_close(one[mask], other[mask], **CLOSE)
    logits = ours.word_logits(found.states[mask])
    torch.testing.assert_close(logits, wanted.prediction_logits[mask], **CLOSE)
    follows = ours.next_head(ours.pool(found.states[:, 0]))
    torch.testing.assert_close(follows, wanted.seq_relationship_logits.flip(1), **CLOSE)


@both_modes
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_pretraining_loss_and_gradients(mode, activation, tmp_path):
    theirs = save(tmp_path / "theirs", hidden_act=activation)
    ours = ours_of(tmp_path / "theirs", tmp_path / "ours")
    getattr(theirs, mode)()
    getattr(ours, mode)()
    batch, inputs, labels = pretraining_batch()
    wanted = theirs(**inputs, **labels).loss
    found = MaskedLanguageModel().loss(ours(batch), batch)
    torch.testing.assert_close(found, wanted, **CLOSE)
    wanted.backward()
    found.backward()
    theirs_by_name = {plain(name): value.grad for name, value in theirs.named_parameters()}
    ours_by_name = {name: value.grad for name, value in ours.named_parameters()}
    compared = 0
    for their_name, our_name, _ in names(config_of(ours)):
        gradient = theirs_by_name[their_name]
        if our_name.startswith("next_head."):
            gradient = gradient.flip(0)
        torch.testing.assert_close(ours_by_name[our_name], gradient, **CLOSE)
        compared += 1
    assert compared == len(ours_by_name) == 62


def test_a_language_model_that_reads_from_the_left(tmp_path):
    kind = transformers.BertLMHeadModel
    theirs = save(tmp_path / "theirs", kind, is_decoder=True).eval()
    ours = ours_of(tmp_path / "theirs", tmp_path / "ours")
    assert (ours.config.direction, ours.config.heads) == ("left", "words")
    (ids, mask), _ = tokens()
    wanted = theirs(input_ids=ids, attention_mask=mask.long()).logits
    states = ours.encode(tokens()[0]).states
    torch.testing.assert_close(ours.word_logits(states[mask]), wanted[mask], **CLOSE)


@pytest.mark.parametrize(
    ("kind", "heads", "has_pooler"),
    [("BertModel", "none", True), ("BertForMaskedLM", "words", False),
     ("BertForPreTraining", "words+next", True), ("BertForSequenceClassification", "none", True)],
)  # fmt: skip
def test_out_and_back_again(kind, heads, has_pooler, tmp_path):
    """Theirs to ours, and ours opened by theirs, with the heads that there are."""
    theirs = save(tmp_path / "theirs", getattr(transformers, kind)).eval()
    bundle = read_bundle(import_bert(tmp_path / "theirs", tmp_path / "ours"))
    assert bundle.config.model["config"]["heads"] == heads
    assert bundle.config.model["config"]["pooler"] is has_pooler
    publish_bert(bundle, tmp_path / "back")
    opened = transformers.AutoModelForPreTraining if heads == "words+next" else (
        transformers.AutoModelForMaskedLM if heads == "words" else transformers.AutoModel
    )  # fmt: skip
    back = opened.from_pretrained(tmp_path / "back").eval()
    encoders = [getattr(model, "bert", model) for model in (theirs, back)]
    (ids, mask), _ = tokens()
    states = [
        encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state for encoder in encoders
    ]
    assert torch.equal(*states)
    if heads != "none":
        logits = [model(input_ids=ids, attention_mask=mask.long())[0] for model in (theirs, back)]
        assert torch.equal(*logits)
    again = read_bundle(import_bert(tmp_path / "back", tmp_path / "again"))
    assert again.read_weights().keys() == bundle.read_weights().keys()
    stored = load_file(tmp_path / "back" / "model.safetensors")
    assert all(value.dtype == torch.float32 for value in stored.values())


def test_old_names_and_half_precision(tmp_path):
    """The oldest files say gamma and beta, and newer ones are often bfloat16."""
    from safetensors.torch import save_file

    theirs = save(tmp_path / "theirs").to(torch.bfloat16).float().eval()
    path = tmp_path / "theirs" / "model.safetensors"
    renamed = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): value.to(torch.bfloat16)
        for name, value in load_file(path).items()
    }
    save_file(renamed, path, metadata={"format": "pt"})
    ours = ours_of(tmp_path / "theirs", tmp_path / "ours")
    (ids, mask), _ = tokens()
    wanted = theirs.bert(input_ids=ids, attention_mask=mask.long()).last_hidden_state
    torch.testing.assert_close(ours.encode(tokens()[0]).states[mask], wanted[mask], **CLOSE)
    assert len(SEQUENCES) == len(ids)
