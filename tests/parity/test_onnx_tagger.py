"""An exported tagger scores as torch does, whatever reads the characters, with and without ELMo."""

import json
from itertools import product

import numpy as np
import pytest
import torch

from small_taggers import ODD, PIPELINE, PLAIN, SPANS, make_tagger, random_sentences
from softquery.bundle import read_bundle
from softquery.export import export_tagger
from softquery.runtime.tag.model import load_tagger
from softquery.runtime.tag.onnx import OnnxTagBackend
from softquery.text import spell_sentences

CLOSE = {"rtol": 0, "atol": 2e-5}
CASES = [
    *({"spelling": {"kind": kind}, "decoder": decoder}
      for kind, decoder in product(("cnn", "lstm", "none"), ("crf", "softmax"))),
    {"hidden_sizes": (7,)},
    {"hidden_sizes": (5, 6, 7), "tags": PLAIN},
    {"spelling": {"kind": "cnn", "width": 5, "size": 3, "output_size": 7}},
]  # fmt: skip


def shown(case):
    return json.dumps(case, default=lambda tags: tags.labels[0]).replace('"', "")


@pytest.fixture(scope="module", params=CASES, ids=shown)
def both(request, tmp_path_factory):
    """A tagger on torch, and the same on ONNX Runtime."""
    folder = tmp_path_factory.mktemp("parity")
    bundle = make_tagger(folder / "plain", **request.param)
    report = export_tagger(read_bundle(bundle), folder / "exported")
    assert (report.precision, report.gate) == ("float32", None)
    assert report.difference <= 1e-5
    theirs = load_tagger(bundle, backend="torch", device="cpu")
    return theirs, load_tagger(report.bundle, backend="onnx", threads=1)


def assert_same(left, right):
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        np.testing.assert_allclose(one, other, **CLOSE)


def test_scores_of_every_word(both):
    theirs, ours = (tagger.backend.scores(ODD) for tagger in both)
    assert_same(ours[0], theirs[0])
    assert [each.shape[0] for each in ours[0]] == [len(words) for words in ODD]
    assert np.ptp(np.concatenate([each for each in theirs[0] if len(each)]), axis=0).max() > 0.01


def test_scores_in_a_chain(both):
    theirs, ours = (tagger.backend.scores(ODD)[1] for tagger in both)
    assert (ours is None) == (theirs is None)
    for one, other in zip(ours or (), theirs or (), strict=True):
        np.testing.assert_array_equal(one, other)


def test_answers(both):
    theirs, ours = (tagger.predict([*ODD, "w1 Unheard w2."]) for tagger in both)
    assert ours == theirs
    assert ours[2].tags == ()


def test_company_and_threads_change_nothing(both):
    _, ours = both
    sentences = random_sentences(70, longest=60)
    together = ours.backend.scores(sentences)[0]
    assert_same([ours.backend.scores([words])[0][0] for words in sentences], together)
    many = load_tagger(ours.bundle.path, threads=3)
    assert many.backend.name == "onnx"
    assert_same(many.backend.scores(sentences)[0], together)
    assert ours.backend.scores([]) == ([], ours.backend.chain)


class TorchLayers:
    """A biLM that gives all layers, as `ContextLayers` of the runtime asks for them."""

    def __init__(self, bilm):
        self.bilm = bilm

    @torch.inference_mode()
    def layers(self, sentences):
        longest = self.bilm.config.characters.max_characters
        characters, mask = map(torch.from_numpy, spell_sentences(sentences, longest))
        found = self.bilm.encode(characters, mask).layers.numpy()
        return [found[:, row, 1 : len(words) + 1] for row, words in enumerate(sentences)]


ELMO = [
    {"places": ("input",)},
    {"places": ("output",)},
    {"places": ("input", "output"), "normalise": True},
    {"places": ("input",), "beside_words": False},
    {"places": ("input", "output"), "layers": "last", "learn_scale": False},
]


@pytest.mark.parametrize("elmo", ELMO, ids=shown)
@pytest.mark.parametrize("kind", ["cnn", "none"])
def test_vectors_in_context_come_in_from_outside(elmo, kind, tmp_path):
    path = make_tagger(tmp_path / "plain", elmo=elmo, spelling={"kind": kind})
    theirs = load_tagger(path, backend="torch", device="cpu")
    written = export_tagger(read_bundle(path), tmp_path / "exported").bundle
    context = TorchLayers(theirs.backend.model.embedder.bilm)
    ours = OnnxTagBackend(read_bundle(written), PIPELINE, 1, context)
    wanted = theirs.backend.scores(ODD)[0]
    assert_same(ours.scores(ODD)[0], wanted)
    theirs.backend.model.embedder.bilm.forwards.layers[0].input_weight.data.mul_(3)
    changed = ours.scores(ODD)[0]
    assert max(np.abs(a - b).max() for a, b in zip(changed, wanted, strict=True) if len(a)) > 1e-4


@pytest.mark.parametrize("elmo", ELMO, ids=shown)
def test_a_bilm_inside_is_exported_along(elmo, tmp_path):
    path = make_tagger(tmp_path / "plain", elmo=elmo)
    report = export_tagger(read_bundle(path), tmp_path / "exported")
    assert report.difference <= 1e-5
    theirs = load_tagger(path, backend="torch", device="cpu").backend.scores(ODD)[0]
    ours = load_tagger(report.bundle, backend="onnx", threads=2).backend.scores(ODD)[0]
    assert_same(ours, theirs)


def test_a_tag_set_of_spans_is_decoded_within_its_scheme(tmp_path):
    """The rules of the scheme hold, whatever computes."""
    path = make_tagger(tmp_path / "plain", decoder="softmax", tags=SPANS)
    report = export_tagger(read_bundle(path), tmp_path / "exported")
    between, start, end = (rule == 0 for rule in SPANS.forbidden())
    for tags in load_tagger(report.bundle).own_tags(random_sentences(40)):
        ids = [SPANS.labels.index(tag) for tag in tags]
        assert start[ids[0]]
        assert end[ids[-1]]
        assert all(between[one, other] for one, other in zip(ids, ids[1:], strict=False))
