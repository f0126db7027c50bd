"""Temperature, threshold, abstention: fitted on one half, measured on the other, obeyed by all."""

import json
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from small_bundles import exported, labelled, make_bundle, random_pairs, unlabelled
from softquery.bundle import read_bundle
from softquery.errors import BundleError, ConfigError, InputError
from softquery.files import Row
from softquery.runtime import evaluate, load
from softquery.runtime.bulk import BulkAnswers, answer_rows
from softquery.runtime.calibrate import fit_calibration, save_calibration

PAIRS = random_pairs(4000, seed=11, longest=5)
FEW = PAIRS[:60]
HALF = len(PAIRS) // 2


def softmax(logits, temperature=1.0):
    wide = logits.astype(np.float64) / temperature
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def two_labels(tmp_path_factory):
    """An exported matcher with the labels 0 and 1, and logits far from zero."""
    folder = tmp_path_factory.mktemp("two-labels")
    plain = make_bundle(folder / "plain", outputs=2, size=16)
    weights = load_file(plain / "model.safetensors")
    for name in [each for each in weights if each.startswith("classifier.")][-2:]:
        weights[name] = 5 * weights[name]
    save_file(weights, plain / "model.safetensors")
    return exported(plain, folder / "model").bundle


@pytest.fixture(scope="module")
def matcher(two_labels):
    return load(two_labels)


@pytest.fixture(scope="module")
def logits(matcher):
    return matcher.logits(PAIRS)


@pytest.fixture(scope="module")
def rows(logits):
    """Labels drawn as if the logits were three times as large as they should be."""
    chances = softmax(logits, 3.0)[:, 1]
    draws = np.random.default_rng(0).random(len(PAIRS))
    return labelled(PAIRS, [str(int(each)) for each in draws < chances])


@pytest.fixture
def calibrated(two_labels, tmp_path):
    """The same bundle under another calibration."""

    def copied(**values):
        target = shutil.copytree(two_labels, tmp_path / f"model{len(list(tmp_path.iterdir()))}")
        (target / "calibration.json").write_text(json.dumps(values))
        return load(target)

    return copied


def flipped(some):
    """The rows with every label turned round."""
    turned = {"0": "1", "1": "0"}
    return [
        Row({**row.values, "label": turned[row.values["label"]]}, row.number, row.source)
        for row in some
    ]


# Fitting


def test_logits_three_times_too_large(matcher, rows):
    fitted = fit_calibration(matcher, rows)
    assert fitted.calibration.temperature == pytest.approx(3, rel=0.15)
    assert fitted.calibration.threshold is None
    facts = fitted.facts
    assert (facts["fitted_on"], facts["measured_on"]) == (HALF, len(PAIRS) - HALF)
    assert facts["ece_before"] > 0.05
    assert facts["ece_after"] < facts["ece_before"] / 2
    assert facts["ece_after"] < 0.04


def test_the_bins_are_those_of_the_second_half(matcher, rows):
    fitted = fit_calibration(matcher, rows)
    for bins in (fitted.before, fitted.after):
        assert len(bins) == 15
        assert sum(each.n for each in bins) == len(PAIRS) - HALF
    for bins, name in ((fitted.before, "ece_before"), (fitted.after, "ece_after")):
        gaps = [each.n * abs(each.confidence - each.accuracy) for each in bins]
        assert sum(gaps) / (len(PAIRS) - HALF) == pytest.approx(fitted.facts[name])


def test_the_second_half_fits_nothing(matcher, rows):
    plain = fit_calibration(matcher, rows, aim="f1")
    other = fit_calibration(matcher, rows[:HALF] + flipped(rows[HALF:]), aim="f1")
    assert other.calibration == plain.calibration
    assert other.facts["ece_after"] != plain.facts["ece_after"]
    assert other.facts["f1"] != plain.facts["f1"]


def test_the_first_half_is_measured_nowhere(matcher, rows):
    plain = fit_calibration(matcher, rows, aim="f1")
    other = fit_calibration(matcher, flipped(rows[:HALF]) + rows[HALF:], aim="f1")
    assert other.calibration.temperature != plain.calibration.temperature
    assert other.calibration.threshold != plain.calibration.threshold
    # Before any temperature there is nothing that the first half could have moved.
    assert other.facts["ece_before"] == plain.facts["ece_before"]
    assert other.before == plain.before


def test_a_calibration_that_is_there_is_not_used(two_labels, calibrated, rows):
    plain = fit_calibration(load(two_labels), rows[:100], aim="f1")
    again = fit_calibration(
        calibrated(temperature=7.0, threshold=0.9, abstain_below=0.99), rows[:100], aim="f1"
    )
    assert again == plain


def test_figures_are_those_of_the_answers(matcher, calibrated, rows):
    """What the card says is what `evaluate` finds on the same rows."""
    fitted = fit_calibration(matcher, rows, aim="f1", abstain_below=0.8)
    answering = calibrated(**fitted.to_dict())
    second = rows[HALF:]
    report = evaluate(answering, second).report()
    assert report["f1"]["1"] == pytest.approx(fitted.facts["f1"])
    counts = report["confusion"]
    said = counts["0"]["1"] + counts["1"]["1"]
    assert fitted.facts["precision"] == pytest.approx(counts["1"]["1"] / said)
    answers = answering.predict(PAIRS[HALF:])
    gold = [row.values["label"] for row in second]
    given = [(each.label, label) for each, label in zip(answers, gold, strict=True) if each.label]
    assert 0 < len(given) < len(second)
    assert fitted.facts["answered_share"] == pytest.approx(len(given) / len(second))
    right = np.mean([label == wanted for label, wanted in given])
    assert fitted.facts["accuracy_of_answered"] == pytest.approx(right)


def test_a_precision_is_kept_on_the_first_half(matcher, rows):
    fitted = fit_calibration(matcher, rows, aim=0.9)
    assert fitted.facts["aim"] == 0.9
    chosen = fitted.calibration
    chances = softmax(matcher.logits(PAIRS[:HALF]), chosen.temperature)[:, 1]
    gold = np.array([row.values["label"] == "1" for row in rows[:HALF]])
    assert gold[chances >= chosen.threshold].mean() >= 0.9
    assert fitted.facts["precision"] == pytest.approx(0.9, abs=0.05)
    assert fitted.facts["recall"] < fit_calibration(matcher, rows, aim=0.6).facts["recall"]


def test_a_precision_out_of_reach(matcher, rows):
    """The rows that look most alike are all labelled as different."""
    order = np.argsort(-matcher.logits(FEW)[:, 1] + matcher.logits(FEW)[:, 0])
    labels = ["1"] * len(FEW)
    for place in order[:25].tolist():
        labels[place] = "0"
    with pytest.raises(
        InputError, match=r"^rows.tsv: first half: no threshold reaches precision 0.99; the best is"
    ):
        fit_calibration(matcher, labelled(FEW, labels), aim=0.99)


def test_rows_of_one_label_give_no_threshold(matcher):
    rows = labelled(FEW, ["0"] * 30 + ["1"] * 30)
    with pytest.raises(InputError, match=r"^rows.tsv: first half: .* no row is positive$"):
        fit_calibration(matcher, rows, aim="f1")
    assert fit_calibration(matcher, rows).calibration.threshold is None


@pytest.mark.parametrize("count", [0, 1, 19])
def test_too_few_rows(matcher, rows, count):
    many = "1 row is" if count == 1 else f"{count} rows are"
    with pytest.raises(InputError, match=f"{many} too few to calibrate on; expected at least 20$"):
        fit_calibration(matcher, rows[:count])


def test_twenty_rows_are_enough(matcher, rows):
    fitted = fit_calibration(matcher, rows[:20], aim="f1", abstain_below=1.0)
    assert (fitted.facts["fitted_on"], fitted.facts["measured_on"]) == (10, 10)
    assert all(math.isfinite(each) for each in fitted.facts.values() if isinstance(each, float))


def test_an_odd_row_is_measured(matcher, rows):
    facts = fit_calibration(matcher, rows[:21]).facts
    assert (facts["fitted_on"], facts["measured_on"]) == (10, 11)


def test_a_bad_label_names_its_row(matcher, rows):
    bad = Row({**rows[5].values, "label": "maybe"}, rows[5].number, "rows.tsv")
    with pytest.raises(InputError, match=r"^rows.tsv, row 7: label 'maybe' is not one of 0, 1$"):
        fit_calibration(matcher, [*rows[:5], bad, *rows[6:30]])


def test_grades_are_refused(graded_bundle):
    rows = labelled(FEW, ["2.5"] * len(FEW))
    with pytest.raises(ConfigError, match="^grades are not probabilities; there is nothing to"):
        fit_calibration(load(graded_bundle), rows)


def test_three_labels_have_a_temperature_and_no_threshold(float_bundle):
    matcher = load(float_bundle)
    rows = labelled(FEW, ["contradiction", "entailment", "neutral"] * 20)
    assert fit_calibration(matcher, rows).calibration.threshold is None
    with pytest.raises(ConfigError, match="^a threshold needs two labels, this model has 3$"):
        fit_calibration(matcher, rows, aim="f1")


def test_a_floor_that_is_no_probability(matcher, rows):
    for floor in (1.5, -0.1, math.nan):
        with pytest.raises(ConfigError, match=f"^abstain_below must be from 0 to 1, got {floor}$"):
            fit_calibration(matcher, rows[:20], abstain_below=floor)


# Obeying


def test_temperature_is_obeyed_by_every_answer(calibrated, logits, rows, tmp_path):
    warm = calibrated(temperature=3.0)
    wanted = softmax(logits[: len(FEW)], 3.0)
    np.testing.assert_allclose(warm.probabilities(FEW), wanted, rtol=0, atol=1e-6)
    answers = warm.predict(FEW)
    np.testing.assert_allclose([each.score for each in answers], wanted[:, 1], atol=1e-6)
    found = evaluate(warm, rows[: len(FEW)])
    np.testing.assert_allclose(found.probabilities, wanted, atol=1e-6)
    hits = warm.rank(FEW[0][0], [FEW[0][1]])
    assert hits[0]["score"] == pytest.approx(wanted[0, 1], abs=1e-4)
    answer_rows(BulkAnswers(warm), unlabelled(FEW), tmp_path / "out.jsonl")
    records = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    np.testing.assert_allclose([each["score"] for each in records], wanted[:, 1], atol=2e-6)
    assert warm.explain(*FEW[0]).score == pytest.approx(wanted[0, 1], abs=1e-4)


def test_logits_know_no_temperature(calibrated, logits):
    np.testing.assert_array_equal(calibrated(temperature=9.0).logits(FEW[:5]), logits[:5])


def test_threshold_is_obeyed_by_labels_and_not_by_scores(two_labels, calibrated, tmp_path):
    plain, strict = load(two_labels), calibrated(threshold=0.9)
    scores = plain.probabilities(FEW)[:, 1]
    assert ((scores > 0.5) & (scores < 0.9)).any()
    answers = strict.predict(FEW)
    assert [each.label for each in answers] == [str(int(each >= 0.9)) for each in scores]
    assert [each.score for each in answers] == scores.tolist()
    answer_rows(BulkAnswers(strict), unlabelled(FEW), tmp_path / "out.jsonl")
    records = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert [each["label"] for each in records] == [each.label for each in answers]
    assert strict.rank(FEW[0][0], [FEW[0][1]]) == plain.rank(FEW[0][0], [FEW[0][1]])


def test_threshold_is_obeyed_by_every_figure_but_those_of_order(two_labels, calibrated, rows):
    some = rows[:400]
    plain, strict = (evaluate(each, some) for each in (load(two_labels), calibrated(threshold=0.9)))
    gold = np.array([int(row.values["label"]) for row in some])
    answered = (plain.probabilities[:, 1] >= 0.9).astype(int)
    report = strict.report()
    assert report["accuracy"] == pytest.approx((answered == gold).mean())
    assert report["accuracy"] != plain.report()["accuracy"]
    assert report["confusion"] == {
        str(wanted): {
            str(said): int(((gold == wanted) & (answered == said)).sum()) for said in (0, 1)
        }
        for wanted in (0, 1)
    }
    assert report["auc"] == plain.report()["auc"]
    mistakes = strict.mistakes()
    assert len(mistakes) == int((answered != gold).sum())
    assert all(each.predicted != each.row.values["label"] for each in mistakes)
    parts = strict.slices("label")
    assert sum(each["n"] * each["accuracy"] for each in parts) == pytest.approx(
        (answered == gold).sum()
    )


def test_abstaining_gives_no_label_and_keeps_the_score(two_labels, calibrated):
    plain, shy = load(two_labels).predict(FEW), calibrated(abstain_below=0.8).predict(FEW)
    sure = [max(each.probabilities.values()) >= 0.8 for each in plain]
    assert any(sure)
    assert not all(sure)
    for before, after, is_sure in zip(plain, shy, sure, strict=True):
        assert after.label == (before.label if is_sure else None)
        assert (after.score, after.probabilities) == (before.score, before.probabilities)


def test_it_is_the_answer_that_must_be_sure(calibrated):
    """An answer that the threshold forces on a model that believes otherwise is no sure one."""
    both = calibrated(threshold=0.9, abstain_below=0.6)
    answers = both.predict(PAIRS[:300])
    forced = [each for each in answers if 0.5 < each.score < 0.9]
    assert forced
    assert {each.label for each in forced} == {None}
    assert {each.label for each in answers if each.score >= 0.9} == {"1"}
    assert {each.label for each in answers if each.score < 0.4} == {"0"}


def test_evaluate_counts_an_abstention_as_the_answer_it_would_have_been(
    two_labels, calibrated, rows
):
    plain, shy = load(two_labels), calibrated(abstain_below=0.99)
    assert None in {each.label for each in shy.predict(FEW)}
    some = rows[:200]
    assert evaluate(shy, some).report() == evaluate(plain, some).report()


def test_bulk_writes_null_where_the_model_abstains(calibrated, tmp_path):
    answer_rows(BulkAnswers(calibrated(abstain_below=1.0)), unlabelled(FEW), tmp_path / "out.jsonl")
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {each["label"] for each in records} == {None}


def test_a_bulk_run_is_not_resumed_under_another_calibration(calibrated, tmp_path):
    first, second = calibrated(temperature=1.0), calibrated(temperature=2.0)
    rows = unlabelled(PAIRS[:600])

    def broken():
        yield from rows[:400]  # more than are answered together
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(first), broken(), tmp_path / "out.jsonl")
    with pytest.raises(InputError, match="out.jsonl.partial"):
        answer_rows(BulkAnswers(second), rows, tmp_path / "out.jsonl")
    assert answer_rows(BulkAnswers(first), rows, tmp_path / "out.jsonl").num_resumed > 0


# Saving


def test_what_is_saved_is_obeyed(two_labels, rows, tmp_path):
    target = shutil.copytree(two_labels, tmp_path / "model")
    before = sorted(path.name for path in (target / "onnx").iterdir())
    fitted = fit_calibration(load(target), rows[:200], aim="f1", abstain_below=0.7)
    assert save_calibration(read_bundle(target), fitted) == target
    again = load(target)
    assert again.backend.name == "onnx"
    assert again.calibration == fitted.calibration
    assert sorted(path.name for path in (target / "onnx").iterdir()) == before
    card = (target / "README.md").read_text()
    assert f"| temperature | {fitted.calibration.temperature:.4f} |" in card
    assert f"| ece_after | {fitted.facts['ece_after']:.4f} |" in card


def test_export_keeps_the_calibration(tmp_path):
    plain = make_bundle(tmp_path / "plain", outputs=2, size=16)
    rows = labelled(FEW, ["0", "1"] * 30)
    fitted = fit_calibration(load(plain), rows, aim="f1")
    save_calibration(read_bundle(plain), fitted)
    answering = load(exported(plain, tmp_path / "onnx").bundle, backend="onnx")
    assert answering.calibration == fitted.calibration
    assert "## Calibration" in answering.bundle.card
    np.testing.assert_allclose(
        answering.probabilities(FEW), load(plain).probabilities(FEW), rtol=0, atol=1e-4
    )
    in_place = exported(plain, plain).bundle
    assert load(in_place, backend="onnx").calibration == fitted.calibration


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"temperature": -1}', "temperature must be a number from 1e-6 to 1e6, got -1"),
        ('{"temperature": "hot"}', "temperature must be a number from 1e-6 to 1e6, got 'hot'"),
        ('{"temperature": null}', "temperature must be a number from 1e-6 to 1e6, got None"),
        ('{"temperature": 1e999}', "temperature must be a number from 1e-6 to 1e6, got inf"),
        ('{"temperature": NaN}', ": broken JSON: NaN is not a JSON number"),
        ('{"threshold": 2}', "threshold must be a number from 0 to 1, got 2"),
        ('{"abstain_below": "0.5"}', "abstain_below must be a number from 0 to 1, got '0.5'"),
        ("[]", "expected a JSON object, found list"),
        ("{", "broken JSON in line 1"),
    ],
)
def test_a_damaged_calibration_is_refused_in_one_line(two_labels, tmp_path, text, said):
    target = shutil.copytree(two_labels, tmp_path / "model")
    (target / "calibration.json").write_text(text)
    with pytest.raises(BundleError) as caught:
        load(target)
    assert str(caught.value).startswith(f"{target}/calibration.json: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are another matter here")
def test_a_bundle_that_is_read_only(two_labels, rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # folders above belong to one user alone
    target = shutil.copytree(two_labels, Path("model"))
    bundle, fitted = read_bundle(target), fit_calibration(load(target), rows[:40])
    target.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        with pytest.raises(BundleError, match=r"^model: cannot be written \([^\n]*\)$"):
            save_calibration(bundle, fitted)
    finally:
        if is_root:
            os.seteuid(0)
        target.chmod(0o755)
    assert not (target / "calibration.json").exists()


def test_a_fit_is_a_value(matcher, rows):
    fitted = fit_calibration(matcher, rows[:40])
    saved = fitted.to_dict()
    assert saved["temperature"] == fitted.calibration.temperature
    assert json.loads(json.dumps(saved, allow_nan=False)) == saved
    assert replace(fitted, facts={}).to_dict().keys() == {
        "temperature", "growth", "bias", "threshold", "abstain_below"
    }  # fmt: skip


def test_every_source_is_cut_in_its_own_middle(matcher, rows):
    some, names = rows[:100], ["chat"] * 30 + ["mail"] * 70
    fitted = fit_calibration(matcher, some, sources=names)
    found = fitted.facts["sources"]
    assert {name: (part["fitted_on"], part["measured_on"]) for name, part in found.items()} == {
        "chat": (15, 15),
        "mail": (35, 35),
    }
    assert json.loads(json.dumps(fitted.to_dict(), allow_nan=False)) == fitted.to_dict()


def test_second_halves_of_sources_are_measured_alone(matcher, rows):
    some, names = rows[:400], ["chat"] * 200 + ["mail"] * 200
    turned = [*some[:100], *flipped(some[100:200]), *some[200:]]
    plain = fit_calibration(matcher, some, aim="f1", sources=names)
    other = fit_calibration(matcher, turned, aim="f1", sources=names)
    assert plain.calibration == other.calibration
    assert other.facts["worst_source"] == "chat"
    one, two = (each.facts["sources"] for each in (plain, other))
    assert one["mail"] == two["mail"]
    assert two["chat"]["ece_after"] > one["chat"]["ece_after"]


def test_one_named_source_is_fitted_as_rows_without_a_name(matcher, rows):
    plain = fit_calibration(matcher, rows[:300], aim="f1")
    named = fit_calibration(matcher, rows[:300], aim="f1", sources=["chat"] * 300)
    assert named.calibration == plain.calibration
    assert named.facts["ece_after"] == plain.facts["ece_after"]
    assert "ece_left_out" not in named.facts["sources"]["chat"]
    assert "sources" not in plain.facts


def test_sources_that_do_not_fit_the_rows(matcher, rows):
    with pytest.raises(ValueError, match="29 sources for 30 rows"):
        fit_calibration(matcher, rows[:30], sources=["a"] * 29)
    with pytest.raises(InputError, match="source 'b': 1 row is too few to calibrate on"):
        fit_calibration(matcher, rows[:30], sources=["a"] * 29 + ["b"])
