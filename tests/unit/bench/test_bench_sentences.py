"""Sentence vectors: what counts, how it is scored and timed, and a page that shows what was found.

Everything is made up here but the last test, which holds the page to its raw figures.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from softquery.measure import CosineReport
from softquery.models import PooledEncoderConfig
from softquery.runtime import load
from softquery.text import TextConfig, build_pipeline

ROOT = Path(__file__).resolve().parents[3]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not here", allow_module_level=True)
sys.path.append(str(ROOT))

from benchmarks.embed import (  # noqa: E402
    encode_speed,
    frontier,
    quality,
    sentence_scores,
    sentence_sets,
    sentences_page,
    shapes,
    speed_turns,
)
from benchmarks.embed.encoder_forms import Sizes  # noqa: E402
from benchmarks.embed.sentence_sets import Intents  # noqa: E402
from benchmarks.embed.speed_turns import Turn  # noqa: E402

TRAIN = [("red car", "car"), ("blue car", "car"), ("red boat", "boat"), ("so what", "oos")]
TEST = [("old car", "car"), ("old boat", "boat"), ("red", "boat"), ("nothing", "oos")]


class Letters:
    """A text's vector counts its letters: no model, and vectors of length one."""

    def encode(self, texts):
        counts = [[text.count(letter) for letter in "abcdeorstu"] for text in texts]
        vectors = np.array(counts, np.float32) + 0.01
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def data(tmp_path):
    """An intent set, graded pairs, labelled pairs, and requests that share half of the set."""
    for name, header, splits in (
        ("intents/toys", "text\tlabel", {"train": TRAIN, "test": TEST}),
        ("pairs/stsb_en", "sentence1\tsentence2\tlabel",
         {"dev": [("car", "cars", "5"), ("car", "boat", "1"), ("car", "cat", "3.5")]}),
        ("pairs/qqp_20k", "sentence1\tsentence2\tlabel",
         {"dev": [("car", "cars", "1"), ("car", "boat", "0")] * 3}),
    ):  # fmt: skip
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for split, rows in splits.items():
            lines = [header, *("\t".join(row) for row in rows)]
            (folder / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "requests").mkdir()
    (tmp_path / "requests" / "requests_en.txt").write_text("Red car!\nred boat\nother\n")
    return tmp_path


@pytest.fixture
def toys(monkeypatch):
    """The one intent set is the one that counts."""
    monkeypatch.setitem(sentence_sets.COUNTED, "en", ("toys",))
    monkeypatch.setitem(sentence_sets.APART, "en", {})


def test_an_intent_set_counts_or_stands_apart():
    for language in ("en", "zh"):
        names = sentence_sets.intent_sets(language)
        assert len(names) == len(set(names))
        assert all(sentence_sets.APART[language].values())


def test_rows_out_of_scope_are_neither_stored_nor_asked(data):
    found = sentence_sets.read_intents(data, "toys")
    assert found == Intents.of(TRAIN, TEST)
    assert found.stored == ["red car", "blue car", "red boat"]
    assert (found.asked_labels, found.out_of_scope) == (["car", "boat", "boat"], ["nothing"])
    requests = sentence_sets.read_requests(data, "en")
    assert sentence_sets.share_in_requests(found.stored, requests) == pytest.approx(2 / 3)
    assert sentence_sets.read_requests(data, "zh") is None


def test_the_nearest_does_not_depend_on_the_blocks(monkeypatch):
    generator = np.random.default_rng(1)
    stored, asked = (generator.normal(size=(n, 8)).astype(np.float32) for n in (40, 23))
    places, best = sentence_scores.nearest(stored, asked)
    assert places.tolist() == (asked @ stored.T).argmax(axis=1).tolist()
    monkeypatch.setattr(sentence_scores, "BLOCK", 5)
    again, scores = sentence_scores.nearest(stored, asked)
    assert again.tolist() == places.tolist()
    np.testing.assert_allclose(scores, best, rtol=1e-6)


def test_no_answer_is_a_wrong_one():
    intents = Intents.of(TRAIN, TEST)
    found = sentence_scores.intent_figures(intents, [0, 2, -1], [0.9, 0.8, 0.0], [0.5])
    assert (found["stored"], found["n"], found["out_of_scope"]) == (3, 3, 1)
    assert found["first_answer"] == pytest.approx(2 / 3)
    assert found["out_of_scope_auc"] == pytest.approx(2 / 3)
    assert "out_of_scope" not in sentence_scores.intent_figures(intents, [0, 0, 0], [1, 1, 1], [])


def test_pairs_are_judged_as_evaluate_judges_them():
    generator = np.random.default_rng(2)
    labels, cosines = generator.integers(0, 2, 41), generator.random(41)
    found = sentence_scores.pair_figures("accuracy", labels.tolist(), cosines)
    report = CosineReport.of(labels, cosines, num_samples=2)
    assert found == {"n": 41, "auc": report.auc, "accuracy": report.accuracy,
                     "threshold": report.threshold}  # fmt: skip
    assert sentence_scores.pair_figures("spearman", [0, 1, 2], cosines[:3]).keys() == {
        "n", "spearman",
    }  # fmt: skip


def test_a_mean_needs_all_of_its_sets(toys):
    pairs = {"stsb_en": {"spearman": 0.8}, "qqp_20k": {"accuracy": 0.7, "auc": 0.1}}
    intents = {"toys": {"first_answer": 0.9}}
    found = sentence_scores.mean_figures("en", pairs, intents)
    assert found == {"first_answers": pytest.approx(90), "mean": pytest.approx(80)}
    assert sentence_scores.mean_figures("en", {}, intents)["mean"] is None
    assert sentence_scores.mean_figures("en", pairs, {})["first_answers"] is None
    assert sentence_scores.mean_figures("zh", {}, {}) == {"first_answers": None, "mean": None}


def test_bm25_answers_by_words():
    pytest.importorskip("bm25s", reason="BM25 needs the extra [search]")
    intents = Intents.of(TRAIN, [*TEST, ("unheard of", "car")])
    assert sentence_scores.Bm25(intents.stored).best("unheard of") == (-1, 0.0)
    found = sentence_scores.bm25_figures(intents)
    assert found["first_answer"] == 0.5  # "red" is in a car's row first
    assert found["n"] == 4


def measured(data, output, monkeypatch, *, mark="one", sets=None):
    """What a run of `quality` leaves, and the texts that it encoded."""
    texts = []

    class Listening(Letters):
        def encode(self, given):
            texts.extend(given)
            return super().encode(given)

    monkeypatch.setattr(quality, "open_form", lambda path, threads: Listening())
    monkeypatch.setattr(quality, "sizes_of", lambda path, encoder: Sizes(5, 10, "float32", mark))
    words = ["quality", "--data", data, "--model", "letters=any", "--dimensions", 4,
             "--without-bm25", "--output", output]  # fmt: skip
    words += ["--sets", *sets] if sets else []
    monkeypatch.setattr(sys, "argv", [str(word) for word in words])
    quality.main()
    return json.loads(output.read_text()), texts


def test_a_model_is_measured_on_every_set_at_every_width(data, toys, tmp_path, monkeypatch):
    report, _ = measured(data, tmp_path / "all.json", monkeypatch)
    assert report["sets"] == {
        "toys": {"stored": 3, "counts": True, "share_in_requests": pytest.approx(2 / 3)}
    }
    model = report["models"]["letters"]
    assert (model["size_bytes"], model["parameters"]) == (5, 10)
    assert list(model["widths"]) == ["10", "4"]
    for figures in model["widths"].values():
        assert figures["pairs"]["stsb_en"]["n"] == 3
        assert figures["intents"]["toys"]["out_of_scope"] == 1
        parts = [figures["pairs"]["stsb_en"]["spearman"], figures["pairs"]["qqp_20k"]["accuracy"],
                 figures["intents"]["toys"]["first_answer"]]  # fmt: skip
        assert figures["means"]["mean"] == pytest.approx(100 * sum(parts) / 3)


def test_a_run_goes_on_where_it_was_and_begins_anew_for_another_model(
    data, toys, tmp_path, monkeypatch
):
    output = tmp_path / "some.json"
    report, _ = measured(data, output, monkeypatch, sets=["toys"])
    assert report["models"]["letters"]["widths"]["10"]["means"]["mean"] is None
    assert report["models"]["letters"]["not_measured"] == ["stsb_en", "qqp_20k"]
    report, texts = measured(data, output, monkeypatch)
    assert report["models"]["letters"]["widths"]["10"]["means"]["mean"] is not None
    assert "cars" in texts
    assert "red boat" not in texts
    again, texts = measured(data, output, monkeypatch)
    assert (again, texts) == (report, ["one"])
    _, texts = measured(data, output, monkeypatch, mark="two", sets=["toys"])
    assert "red boat" in texts


def test_figures_of_two_languages_are_kept_apart(data, tmp_path):
    output = tmp_path / "zh.json"
    output.write_text(json.dumps({"language": "zh", "models": {}, "sets": {}}))
    with pytest.raises(SystemExit, match="holds figures of language 'zh'"):
        quality.Results(output, argparse.Namespace(language="en", sets=None))


def test_a_turn_asks_other_texts_each_round():
    scenes = speed_turns.Scenes(
        one=[f"text {number}" for number in range(30)], questions=["a", "b"], sentences=["c"],
        stored=[],
    )  # fmt: skip
    asked = [[], []]
    for number, texts in enumerate(asked):
        turn = speed_turns.take_turn(texts.append, scenes, number, calls=10)
        assert turn.one >= 0
        assert texts[-2:] == [["a", "b"], ["c"]]
    warm = speed_turns.WARM_UP
    assert len(asked[0]) == warm + 12
    assert not {each[0] for each in asked[0][warm:-2]} & {each[0] for each in asked[1][warm:-2]}
    assert scenes.mean_words() == {"one": 2, "questions": 1, "sentences": 1}


def test_ratios_are_against_the_fastest_rival_of_each_scene():
    turns = {
        "small": [Turn(1.0, 2.0, 5.0), Turn(1.0, 4.0, 5.0)],
        "slow": [Turn(9.0, 30.0, 50.0), Turn(11.0, 50.0, 50.0)],
        "fast": [Turn(8.0, 60.0, 60.0), Turn(10.0, 60.0, 60.0)],
    }
    found = encode_speed.ratios(turns, ["slow", "fast"])["small"]
    assert (found["one"], found["one_against"]) == (9.0, "fast")
    assert (found["questions"], found["questions_against"]) == (13.75, "slow")
    assert encode_speed.ratios(turns, []) == {}
    row = encode_speed.rows_of({name: {} for name in turns}, turns, 6, 10)["small"]
    assert (row["one_ms"], row["questions_per_s"], row["sentences_per_s"]) == (1000.0, 2.0, 2.0)


def test_shapes_have_names_or_settings():
    assert shapes.shape_of("bilstm-128") == ("bilstm-128", shapes.SHAPES["bilstm-128"])
    found = shapes.shape_of("flat=body=static,pools=query+max,embedding_size=64")
    assert found == ("flat", {"body": "static", "pools": ("query", "max"), "embedding_size": 64})
    with pytest.raises(SystemExit, match="no shape 'flat'; there are static-256, "):
        shapes.shape_of("flat")
    for settings in shapes.SHAPES.values():
        PooledEncoderConfig(vocab_size=9, **settings)


def test_a_shape_is_exported_once_and_timed(tmp_path):
    texts = [f"word {number} of some" for number in range(80)]
    pipeline = build_pipeline(texts, TextConfig())
    shape = {"body": "static", "embedding_size": 64, "output_size": 64}
    bundle = shapes.exported(shape, pipeline, texts, tmp_path / "shape")
    assert load(bundle).encode(["some word"]).shape == (1, 64)
    assert shapes.exported(shape, pipeline, texts, tmp_path / "shape") == bundle
    scenes = shapes.scenes_of([*texts, "one two three four five six"], 80)
    assert (scenes.one, len(scenes.questions)) == (["one two three four five six"], 80)


def test_shapes_are_compared_round_by_round():
    turns = {
        "small": [Turn(1.0, 2.0, 0.0), Turn(1.0, 4.0, 0.0)],
        shapes.BESIDE: [Turn(8.0, 30.0, 0.0), Turn(10.0, 20.0, 0.0)],
    }
    assert shapes.rows_of(turns, 6)["small"] == {
        "one_ms": 1000.0, "questions_per_s": 2.0, "times_one": 9.0, "times_questions": 10.0,
    }  # fmt: skip


def drawn():
    """Figures of two models and BM25, and times of one model more."""

    def model(mean, first):
        return {"size_bytes": 9_000_000, "parameters": 8_000_000,
                "widths": {"256": {"pairs": {}, "intents": {},
                                   "means": {"mean": mean, "first_answers": first}}}}  # fmt: skip

    models = {"embed-en": model(80.0, 84.0), "mpnet": model(86.0, 90.0), "bm25": model(None, 70.0)}
    rows = {"embed-en": {"one_ms": 0.1, "size_bytes": 9_000_000}, "bm25": {"one_ms": 0.05},
            "other": {"one_ms": 2.0}}  # fmt: skip
    return {"models": models}, {"rows": rows}


def test_the_frontier_has_what_was_measured_twice(tmp_path):
    measured_quality, speed = drawn()
    (point,) = frontier.points_of(measured_quality, speed, "mean")
    assert (point.name, point.label) == ("embed-en", "embed-en, 9 MB")
    both = frontier.points_of(measured_quality, speed, "first_answers")
    assert [each.name for each in frontier.unbeaten(both)] == ["bm25", "embed-en"]
    assert frontier.untimed(measured_quality, speed, "mean") == {"mpnet": 86.0}
    pytest.importorskip("matplotlib", reason="pictures are drawn with the extra [plot]")
    frontier.draw(measured_quality, speed, tmp_path / "frontier.svg")
    assert "</svg>" in (tmp_path / "frontier.svg").read_text(encoding="utf-8")


def test_a_table_sorts_models_by_their_mean_and_names_prefixes():
    models = {
        name: {"size_bytes": 1_000_000, "parameters": 2_000_000, "widths": {
            width: {"pairs": {"stsb_en": {"spearman": mean / 100}}, "intents": {},
                    "means": {"first_answers": 50.0, "mean": mean}}
            for width, mean in widths.items()}}
        for name, widths in {"worse": {"256": 70.0}, "better": {"384": 90.0, "128": 80.0}}.items()
    }  # fmt: skip
    lines = sentences_page.quality_table("en", {"models": models}).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| better", "| better, first 128", "| worse",
    ]  # fmt: skip
    assert lines[2] == "| better | 1.0 | 2.0 | 384 | 90.00 | – | 50.00 | 90.00 |"
    assert sentences_page.quality_table("zh", {}) == "Not measured yet."


def test_the_page_shows_what_was_measured():
    """Its words are written by hand, its tables are not."""
    page = sentences_page.PAGE.read_text(encoding="utf-8")
    made = sentences_page.tables()
    assert all(f"<!-- {name} -->" in page for name in made)
    assert sentences_page.with_tables(page, made) == page
