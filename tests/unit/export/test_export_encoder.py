"""A bare encoder as int8: judged by hidden words, stored small, the same with and without torch."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from bert_cases import write_bert
from softquery.bundle import read_bundle
from softquery.data import Sentences
from softquery.errors import BundleError, ConfigError, InputError
from softquery.export import export_encoder
from softquery.files import DocumentLine
from softquery.interop.bert import publish_bert
from softquery.models import Bert, BertConfig
from softquery.models.bert import presets
from softquery.running.start import read_pretrained
from softquery.runtime import load
from softquery.runtime.embed.evaluate import hidden_words
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.torch_models import load_encoder
from softquery.text import BERT_RESERVED, TextConfig, pipeline_from_pieces

WORDS = ["man", "child", "eats", "sings", "home", "sea", "the", "a", "at", "by", ".", "##s"]
LINES = [
    DocumentLine(
        f"the {WORDS[place % 12]} {WORDS[place % 7]} by the {WORDS[place % 5]} .", place % 3 == 0
    )
    for place in range(96)
]
SMALL = BertConfig(hidden_size=64, num_layers=2, num_heads=2, inner_size=128, max_length=32)
TEXTS = ["A man sings at home.", "the sea", ""]


def make_encoder(folder, config=SMALL, pieces=WORDS):
    """A BERT of random weights that lie wide apart, so that its answers differ."""
    torch.manual_seed(1)
    text = TextConfig(unit="bert", strip_accents=True, boundaries=True, max_tokens=32)
    pipeline = pipeline_from_pieces([*BERT_RESERVED, *pieces], text)
    model = Bert(replace(config, vocab_size=pipeline.vocab_size))
    with torch.no_grad():
        for value in model.parameters():
            value.mul_(4 if value.ndim > 1 else 1)
    return read_bundle(write_bert(folder, model, pipeline))


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The bundle, and how it was exported."""
    folder = tmp_path_factory.mktemp("encoder")
    bundle = make_encoder(folder / "plain")
    return bundle, export_encoder(bundle, folder / "int8", int8=True, limit=50, lines=LINES)


def test_int8_is_kept_inside_the_gate_and_told(sound):
    _, report = sound
    assert (report.precision, report.gate.metric) == ("int8", "mlm_perplexity")
    exported = read_bundle(report.bundle)
    stored = exported.read_weights()
    matrices = {name for name, values in stored.items() if values.size >= 4096}
    assert {stored[name].dtype.name for name in matrices} == {"int8"}
    assert any("word_head" in name for name in matrices)
    assert exported.metrics["export"]["gate"]["int8"] == report.gate.int8
    assert exported.metrics["export"]["precision"] == "int8"


def test_the_figures_are_perplexities_of_the_same_hidden_words(sound):
    bundle, report = sound
    models = [load_encoder(each) for each in (bundle, read_bundle(report.bundle))]
    with hidden_words(models[0], fitting_pipeline(bundle), lambda: LINES) as hidden:
        found = [hidden.scores(model) for model in models]
    assert found[0].num_words == found[1].num_words == report.gate.n > 50
    wanted = [math.exp(-each.mean) for each in found]
    assert [report.gate.float32, report.gate.int8] == pytest.approx(wanted, rel=1e-5)
    assert wanted[0] != wanted[1]
    lost = 100 * (wanted[1] / wanted[0] - 1)
    assert report.gate.lost_points == pytest.approx(lost, abs=1e-3)


def test_beyond_the_gate_float32_is_kept(sound, tmp_path):
    report = export_encoder(sound[0], tmp_path / "new", int8=True, limit=-90, lines=LINES)
    assert (report.precision, report.gate.accepted) == ("float32", False)
    stored = read_bundle(tmp_path / "new").read_weights()
    assert {values.dtype.name for values in stored.values()} == {"float32"}
    assert load(tmp_path / "new").backend.name == "onnx"


def test_states_are_those_of_torch_with_the_same_weights(sound):
    report = sound[1]
    small, wide = load(report.bundle), load(report.bundle, backend="torch", device="cpu")
    assert small.backend.name == "onnx"
    for one, other in zip(small.embed(TEXTS), wide.embed(TEXTS), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-4, rtol=1e-3)
    plain = load(sound[0]).embed(TEXTS[:1])[0]
    assert np.corrcoef(small.embed(TEXTS[:1])[0].ravel(), plain.ravel())[0, 1] > 0.99


def test_a_window_hides_the_same_without_torch(tmp_path):
    bundle = make_encoder(tmp_path / "plain", replace(SMALL, window=2))
    exported = export_encoder(bundle, tmp_path / "exported")
    assert exported.difference < 1e-4
    ours, theirs = load(exported.bundle), load(bundle, backend="torch", device="cpu")
    text = "the man sings at home . a child eats by the sea"
    for one, other in zip(ours.embed([text]), theirs.embed([text]), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-4, rtol=1e-3)
    found = ours.explain(text).weights
    pieces = Sentences.pack([fitting_pipeline(bundle).encode_ids([text])[0]])
    wanted = load_encoder(bundle).eval().look(pieces.pad(torch.arange(1), found.shape[-1]))[0]
    np.testing.assert_allclose(found, wanted.detach().numpy(), atol=1e-4)
    assert (found[..., 5, [1, 2, 8, 9]] == 0).all()
    assert (found[..., 5, [0, 3, 4, 6, 7]] > 0).all()
    with pytest.raises(BundleError, match="window has no counterpart in that format"):
        publish_bert(bundle, tmp_path / "published")


def test_it_embeds_without_torch(sound):
    code = (
        "import sys\nsys.modules['torch'] = None\nfrom softquery import load\n"
        f"print(load({str(sound[1].bundle)!r}).embed(['the sea'])[0].shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(3, 4, 64)"


def test_heads_come_along_and_a_task_stands_on_it(sound):
    bundle = read_bundle(sound[1].bundle)
    model = load_encoder(bundle)
    assert model.word_head is not None
    assert model.next_head is not None
    base = read_pretrained(bundle.path, "bert")
    assert base.model.config.heads == "words+next"
    for name, value in load_encoder(sound[0]).state_dict().items():
        step = value.abs().max() / 100
        torch.testing.assert_close(model.state_dict()[name], value, atol=float(step), rtol=0)


def test_exported_again_nothing_more_is_lost(sound, tmp_path):
    report = export_encoder(
        read_bundle(sound[1].bundle), tmp_path / "again", int8=True, limit=0.01, lines=LINES
    )
    assert report.precision == "int8"


def test_what_cannot_be_judged_is_refused(sound, tmp_path):
    headless = make_encoder(tmp_path / "headless", replace(SMALL, heads="none"))
    for bundle, lines, fault, said in (
        (headless, LINES, ConfigError, "this encoder has no head to predict them; export what"),
        (sound[0], [], ConfigError, "int8 needs text for its gate; name a file with --data"),
        (
            sound[0],
            [DocumentLine("sea", True)],
            InputError,
            "the gate's text: is too short to hide a word",
        ),
        (sound[0], [DocumentLine("\u200b", True)], InputError, "there is no word in the text"),
    ):
        with pytest.raises(fault, match=said):
            export_encoder(bundle, tmp_path / "new", int8=True, lines=lines)
        assert not (tmp_path / "new").exists()
    assert export_encoder(headless, tmp_path / "new").precision == "float32"


def test_scales_that_do_not_fit_are_refused(sound, tmp_path):
    from safetensors.numpy import load_file, save_file

    export_encoder(sound[0], tmp_path / "new", int8=True, limit=50, lines=LINES)
    stored = load_file(tmp_path / "new" / "model.safetensors")
    name = next(name for name in stored if name.endswith(":scale"))
    stored[name] = stored[name][:-1]
    save_file(stored, tmp_path / "new" / "model.safetensors")
    with pytest.raises(BundleError, match=f"model.safetensors: {name} does not fit its weight"):
        load(tmp_path / "new", backend="onnx")


def test_four_layers_of_256_and_8000_pieces_are_small(tmp_path):
    pieces = [f"{'##' * (number % 2)}piece{number}" for number in range(8_000 - 5)]
    config = replace(presets()["mini"], attention_dropout=0.0)
    bundle = make_encoder(tmp_path / "plain", config, pieces)
    lines = [DocumentLine(" ".join(pieces[:400:2]), True)]
    report = export_encoder(bundle, tmp_path / "int8", int8=True, limit=1e9, lines=lines)
    assert report.precision == "int8"
    assert report.size_bytes < 6.2e6
