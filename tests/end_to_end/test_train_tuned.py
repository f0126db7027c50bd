"""An encoder is bent by labels, and what comes of it is kept where it pays."""

import json
import random

import numpy as np
import pytest

pytest.importorskip("torch", reason="fine-tuning needs the extra [train]")

from running import softquery

import softquery as sq
from small_heads import exported_encoder, write_rows
from softquery.bundle import read_bundle
from softquery.errors import ConfigError
from softquery.recipes import override, recipe
from softquery.recipes.few_labels import EncoderTuning, HeadSettings
from softquery.running.few_labels.encoder_tuner import EncoderTuner
from softquery.running.few_labels.head_encoder import choose_encoder
from softquery.running.few_labels.head_search import HeadSearch, TriedHead
from softquery.running.few_labels.tuned_head import TuningTrial

OTHERS = [f"w{letter}" for letter in "cdefghijkl"]


def hidden_rows(count):
    """Rows `text<TAB>label` of which one word of eleven tells the label."""
    draw, found = random.Random(0), []
    for number in range(count):
        words = draw.choices(OTHERS, k=10)
        words.insert(draw.randrange(10), ("wa", "wb")[number % 2])
        found.append(f"what is the {' '.join(words)} here\t{('left', 'right')[number % 2]}")
    return found


ROWS = hidden_rows(80)
SETTINGS = ["head.word_weights=0", "head.costs=1,10", "head.num_folds=2", "tuning.num_steps=12"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned")
    exported_encoder(folder / "encoder")
    write_rows(folder / "data" / "train.tsv", ROWS[:60])
    write_rows(folder / "data" / "dev.tsv", ROWS[60:])
    return folder


def search(right):
    """A search whose answers are right where it is said."""
    logits = np.array([[1.0, 0.0] if each else [0.0, 1.0] for each in right])
    best = TriedHead(cost=1, word_weight=1, log_likelihood=-0.7,
                     accuracy=float(np.mean(right)), temperature=1.0)  # fmt: skip
    return HeadSearch(tried=(best,), best=best, logits=logits, held=np.arange(len(right)))


def test_what_pays_is_right_more_often_beyond_noise():
    gold = np.zeros(100, dtype=np.int64)
    frozen = search([True] * 60 + [False] * 40)
    assert TuningTrial.of(frozen, search([True] * 70 + [False] * 30), gold).pays
    assert not TuningTrial.of(frozen, frozen, gold).pays
    # Two rows more than were lost, among 42 that changed, are noise.
    mixed = [True] * 40 + [False] * 20 + [True] * 22 + [False] * 18
    assert not TuningTrial.of(frozen, search(mixed), gold).pays


def test_texts_of_a_label_move_together_and_words_stay(place):
    texts, labels = zip(*(line.rsplit("\t", 1) for line in ROWS[:40]), strict=True)
    gold = np.array([label == "right" for label in labels]).astype(np.int64)
    encoder = choose_encoder(str(place / "encoder"), texts, HeadSettings(), lambda line: None)
    ids = encoder.ids(texts, "train", lambda line: None)
    tuner = EncoderTuner(encoder, EncoderTuning(num_steps=15), seed=1)
    before, tables = tuner.vectors(ids), tuner.weights()
    tuner.tune(ids, gold)
    after, tuned = tuner.vectors(ids), tuner.weights()

    def apart(vectors):
        cosines, same = vectors @ vectors.T, gold[:, None] == gold[None]
        return cosines[same].mean() - cosines[~same].mean()

    assert apart(after) > apart(before) + 0.2
    changed = {name for name in tables if not np.array_equal(tables[name], tuned[name])}
    assert changed == {name for name in tables if not name.endswith("table.weight")}
    tuner.tune(ids, gold)  # from the start again
    np.testing.assert_array_equal(tuner.vectors(ids), after)


@pytest.fixture(scope="module")
def tuned(place):
    words = [part for each in SETTINGS for part in ("--set", each)]
    answer = softquery("train", "classify-tuned", "--data", place / "data", "--init",
                       place / "encoder", "--output", place / "model", *words)  # fmt: skip
    return answer, place / "model"


def test_a_tuned_encoder_travels_in_the_bundle_and_needs_no_torch(tuned, place):
    answer, model = tuned
    assert answer.code == 0, answer.err
    (told,) = [line for line in answer.err.splitlines() if line.startswith("fine-tuning")]
    assert told.startswith("fine-tuning pays and is kept: accuracy out of fold ")
    bundle = read_bundle(model)
    facts = bundle.metrics["training"]["tuning"]
    assert facts["kept"] is True
    assert facts["accuracy_tuned"] > facts["accuracy_frozen"]
    assert bundle.config.base is None
    assert bundle.is_exported
    assert "encoder, fine-tuned; this bundle holds what it became" in bundle.card
    opened = sq.load(model, backend="onnx")
    texts = [line.rsplit("\t", 1) for line in ROWS[60:]]
    right = [opened.predict([text])[0].label == label for text, label in texts]
    assert np.mean(right) == bundle.metrics["dev"]["accuracy"] > 0.8


def test_what_is_not_tried_is_told(place, tmp_path):
    few = write_rows(tmp_path / "few.tsv", ROWS[:30])
    for size, words in ((few, ()), (place / "data", ("--set", "tuning.most_rows=50"))):
        output = tmp_path / f"model-{len(words)}"
        answer = softquery("train", "classify-tuned", "--data", size, "--init", place / "encoder",
                           "--output", output, *words)  # fmt: skip
        assert answer.code == 0, answer.err
        assert "fine-tuning was not tried: " in answer.err
        assert "tuning" not in read_bundle(output).metrics["training"]


def test_a_file_is_measured_by_what_had_not_seen_its_rows(place, tmp_path, monkeypatch):
    monkeypatch.setattr("softquery.running.spreadsheet.class_head.classify_tuned",
                        lambda: override(recipe("classify-tuned"), SETTINGS))  # fmt: skip
    file = write_rows(tmp_path / "rows.tsv", ROWS[:60])
    model = sq.train(file, output=tmp_path / "model", init=place / "encoder",
                     tuning="where-it-pays")  # fmt: skip
    assert "fine-tuned by the rows" in model.report["learned_by"]
    as_it_is, bent = model.report["tried"]
    assert bent["accuracy"] > as_it_is["accuracy"]
    assert model.report["figures"]["accuracy"] == pytest.approx(bent["accuracy"])
    assert json.loads((tmp_path / "model" / "metrics.json").read_text())["dev"]["n"] == 60


def test_tuning_is_for_classes(place, tmp_path):
    with pytest.raises(ConfigError, match="tuning is for classify"):
        sq.train([], "match", output=tmp_path / "model", tuning="where-it-pays")
    with pytest.raises(ConfigError, match="tuning must be never or where-it-pays"):
        sq.train([], output=tmp_path / "model", tuning="always")
    answer = softquery("train", "classify-few", "--data", place / "data", "--fine-tune",
                       "--output", tmp_path / "model")  # fmt: skip
    assert (answer.code, "classify-tuned" in answer.err) == (2, True)
    file = write_rows(tmp_path / "rows.tsv", ROWS[:30])
    answer = softquery("train", "tag", file, "--fine-tune")
    assert (answer.code, "--fine-tune: is for classify" in answer.err) == (2, True)
    with pytest.raises(ValueError, match="when must be one of never, where-it-pays"):
        EncoderTuning(when="always")
