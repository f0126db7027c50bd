"""Imported encoders against what they were: `transformers`, with pools in plain arithmetic."""

import numpy as np
import pytest
import torch

pytest.importorskip("transformers", reason="the other encoders are those of transformers")

import transformers
from safetensors.numpy import load_file
from tokenizers import Tokenizer

import softquery as sq
from sentence_folders import (
    LIMIT,
    TEXTS,
    random_model,
    write_cross_encoder,
    write_sentence_folder,
)
from softquery.bundle import read_bundle
from softquery.export import export_bert_head
from softquery.export.encode import export_sentence_encoder
from softquery.interop import import_sentence_transformers
from softquery.nn import distance_buckets

CLOSE = {"rtol": 0, "atol": 2e-5}
POOLS = {
    "cls_token": lambda states: states[0],
    "max_tokens": lambda states: states.max(axis=0),
    "mean_tokens": lambda states: states.mean(axis=0),
    "mean_sqrt_len_tokens": lambda states: states.sum(axis=0) / np.sqrt(len(states)),
}
ACTIVATIONS = {
    "torch.nn.modules.activation.Tanh": np.tanh,
    "torch.nn.modules.linear.Identity": lambda values: values,
}
SHAPES = [
    {"pools": ("mean_tokens",)},
    {"pools": ("cls_token",), "normalise": False},
    {"pools": ("max_tokens", "mean_tokens")},
    {"pools": tuple(POOLS), "normalise": False},
    {"pools": ("mean_sqrt_len_tokens",), "dense": "torch.nn.modules.activation.Tanh"},
    {"pools": ("cls_token", "mean_tokens"), "dense": "torch.nn.modules.linear.Identity",
     "normalise": False},
]  # fmt: skip


def wanted_vectors(folder, kind, shape):
    """The documented arithmetic: one text at a time, no padding, no batches."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LIMIT)
    model, found = random_model(kind), []
    for text in TEXTS:
        with torch.inference_mode():
            ids = torch.tensor([tokenizer.encode(text.strip()).ids])
            states = model(ids).last_hidden_state[0].double().numpy()
        vector = np.concatenate([POOLS[pool](states) for pool in shape["pools"]])
        if "dense" in shape:
            layer = load_file(folder / "2_Dense" / "model.safetensors")
            vector = layer["linear.weight"] @ vector + layer["linear.bias"]
            vector = ACTIVATIONS[shape["dense"]](vector)
        found.append(vector / np.linalg.norm(vector) if shape.get("normalise", True) else vector)
    return np.stack(found)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(map(str, shape.values())))
def test_vectors_in_torch_and_onnx(kind, shape, tmp_path):
    folder = write_sentence_folder(tmp_path / "theirs", kind, **shape)
    wanted = wanted_vectors(folder, kind, shape)
    bundle = read_bundle(import_sentence_transformers(folder, tmp_path / "ours"))
    report = export_sentence_encoder(bundle, tmp_path / "exported")
    assert report.difference < 1e-5
    for place, backend in (("ours", "torch"), ("exported", "onnx")):
        encoder = sq.load(tmp_path / place, backend=backend)
        np.testing.assert_allclose(encoder.encode(TEXTS, length="own"), wanted, **CLOSE)
        unit = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
        np.testing.assert_allclose(encoder.encode(TEXTS), unit, **CLOSE)
        cosines = encoder.similarity(TEXTS, TEXTS[3:5])
        np.testing.assert_allclose(cosines, unit @ unit[3:5].T, **CLOSE)


@pytest.mark.parametrize("buckets", [32, 16, 8])
def test_distances_fall_into_the_same_buckets(buckets):
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    ahead = torch.arange(-600, 601)
    for farthest in (128, 64, 20):
        wanted = MPNetEncoder.relative_position_bucket(ahead, buckets, farthest)
        assert distance_buckets(ahead, buckets, farthest).equal(wanted)


@pytest.mark.parametrize("num_labels", [1, 2, 3])
def test_a_cross_encoder_keeps_its_head(num_labels, tmp_path):
    folder = write_cross_encoder(tmp_path / "theirs", num_labels=num_labels)
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    pairs = [(one, other) for one in TEXTS[:9] for other in TEXTS[2:5]]
    logits = []
    for encoded in tokenizer.encode_batch(pairs):
        with torch.inference_mode():
            given = {"input_ids": encoded.ids, "token_type_ids": encoded.type_ids}
            found = theirs(**{name: torch.tensor([row]) for name, row in given.items()})
        logits.append(found.logits[0].numpy())
    wanted = np.stack(logits)
    bundle = read_bundle(import_sentence_transformers(folder, tmp_path / "ours"))
    export_bert_head(bundle, tmp_path / "exported", int8=False, limit=0.5, rows=())
    for place, backend in (("ours", "torch"), ("exported", "onnx")):
        matcher = sq.load(tmp_path / place, backend=backend)
        np.testing.assert_allclose(matcher.logits(pairs), wanted, **CLOSE)
        assert matcher.is_graded == (num_labels == 1)
