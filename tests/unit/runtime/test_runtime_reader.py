"""A reader that answers: long contexts in windows, no answer, pictures, bulk, and refusals."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import softquery as sq
from small_readers import WORDS, answered, exported_reader, make_reader, random_questions
from softquery.errors import BundleError, ConfigError, InputError
from softquery.files import AskedQuestion
from softquery.runtime.bulk import BulkAnswers, answer_rows
from softquery.runtime.calibrate import fit_abstention
from softquery.runtime.read.evaluate import beginning, evaluate_reader
from softquery.runtime.read.model import SHOWN, load_reader


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    return exported_reader(make_reader(folder / "plain"), folder / "model").bundle


@pytest.fixture(scope="module")
def reader(bundle):
    return load_reader(bundle)


@pytest.fixture(scope="module")
def unsure(tmp_path_factory):
    """A reader that has learnt that there may be no answer, as to half of random questions."""
    folder = tmp_path_factory.mktemp("unsure")
    plain = make_reader(folder / "plain", no_answer="learnt")
    sure = [answer.score for answer in load_reader(plain).best(random_questions(40))]
    middle = np.median(np.log(sure) - np.log1p(-np.array(sure)))
    weights = load_file(plain / "model.safetensors")
    weights["head.none"] += np.float32(middle / 2)
    save_file(weights, plain / "model.safetensors")
    return load_reader(exported_reader(plain, folder / "model").bundle)


@pytest.fixture
def damaged(bundle, tmp_path):
    return shutil.copytree(bundle, tmp_path / "model")


def test_any_bundle_is_opened(bundle):
    assert isinstance(sq.load(bundle), sq.Reader)
    assert sq.load(bundle, backend="torch").backend.name.startswith("torch")


def test_answers_are_slices_of_the_context(reader):
    pairs = random_questions(30)
    for (_, context), answer in zip(pairs, reader.predict(pairs), strict=True):
        assert context[answer.start : answer.end] == answer.text
        assert len(answer.text.split()) <= reader.rules.max_words
        assert 0 < answer.score <= 1


def test_a_long_context_is_read_in_pages(reader):
    context = " ".join(WORDS * 3)
    assert reader.num_long([context, "w1", context]) == 2
    (answer,) = reader.predict([("w1 w2", context)])
    assert context[answer.start : answer.end] == answer.text
    spans = reader.candidates("w1 w2", context, top_k=50)
    assert spans[0] == answer
    assert len({(each.start, each.end) for each in spans}) == 50


def test_a_document_of_a_hundred_thousand_words(reader):
    context = " ".join(WORDS[place % 60] for place in range(100_000)) + " needle"
    (answer,) = reader.predict([("w1 needle", context)])
    assert context[answer.start : answer.end] == answer.text


def test_company_changes_nothing(reader):
    pairs = random_questions(20)
    for pair, together in zip(pairs, reader.predict(pairs), strict=True):
        (alone,) = reader.predict([pair])
        assert (alone.text, alone.start) == (together.text, together.start)
        assert alone.score == pytest.approx(together.score, abs=1e-5)


def test_nothing_to_read_and_nothing_asked(reader):
    empty, invisible = reader.predict([("w1", ""), ("w1", "\u200b")])
    assert empty.text is invisible.text is None
    assert (empty.start, empty.end, empty.score) == (None, None, 0.0)
    assert reader.predict([]) == []
    (answer,) = reader.predict([("\u200b", "w1 w2")])  # a question without words asks nothing
    assert answer.text


def test_no_answer_where_it_is_likelier(unsure):
    pairs = random_questions(40)
    best, given = unsure.best(pairs), unsure.predict(pairs)
    assert {answer.text is None for answer in given} == {True, False}
    for one, other in zip(best, given, strict=True):
        assert (other.text is None) == (one.score < 0.5)
        assert one.score == other.score


def test_a_saved_threshold_is_obeyed(damaged):
    (damaged / "calibration.json").write_text('{"abstain_below": 1.0}')
    asked = [(question, f"{context} w1 w2") for question, context in random_questions(5)]
    answers = load_reader(damaged).predict(asked)
    assert [answer.text for answer in answers] == [None] * 5
    (damaged / "calibration.json").write_text('{"abstain_below": 3}')
    with pytest.raises(BundleError, match=r"calibration\.json: abstain_below must be a number"):
        load_reader(damaged)


def test_a_threshold_is_fitted_on_the_first_half(unsure):
    pairs = random_questions(40)
    rows = answered(pairs)
    rows[::2] = [
        AskedQuestion(id=row.id, question=row.question, context=row.context, answers=(), number=1,
                      source="rows.json")
        for row in rows[::2]
    ]  # fmt: skip
    found = fit_abstention(unsure, rows).to_dict()
    assert (found["fitted_on"], found["measured_on"]) == (20, 20)
    assert 0 <= found["abstain_below"] <= 1
    assert fit_abstention(unsure, rows, abstain_below=0.0).facts["answered_share"] == 1.0
    with pytest.raises(InputError, match="5 questions are too few to calibrate on; expected at le"):
        fit_abstention(unsure, rows[:5])
    with pytest.raises(InputError, match="must hold questions with an answer and questions with"):
        fit_abstention(unsure, answered(pairs))
    with pytest.raises(ConfigError, match="abstain_below must be from 0 to 1, got 2"):
        fit_abstention(unsure, rows, abstain_below=2)


def test_a_picture_shows_the_words_around_the_answer(reader, tmp_path):
    context = " ".join(WORDS * 2)
    shown = reader.explain("w1 w2 w3", context)
    (answer,) = reader.predict([("w1 w2 w3", context)])
    assert shown.label == answer.text
    assert shown.first_tokens == ("w1", "w2", "w3")
    assert set(answer.text.split()) <= set(shown.second_tokens)
    assert len(shown.second_tokens) <= 2 * SHOWN + reader.rules.max_words
    assert shown.second in context
    assert shown.second_to_first.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert (shown.first_to_second.sum(axis=1) <= 1 + 1e-5).all()
    assert shown.probabilities[answer.text] == pytest.approx(answer.score)
    for name in ("why.html", "why.svg", "why.json"):
        shown.plot(tmp_path / name)
    assert "w2" in (tmp_path / "why.html").read_text()
    with pytest.raises(InputError, match="a context without any word has nothing to show"):
        reader.explain("w1", "\u200b")
    assert reader.explain("\u200b", "w1 w2").first_tokens == ()


def test_an_answer_that_is_not_given_is_shown_as_none(unsure):
    pairs = random_questions(40)
    place = [answer.text is None for answer in unsure.predict(pairs)].index(True)
    shown = unsure.explain(*pairs[place])
    assert shown.label is None
    assert len(shown.probabilities) >= 1


def test_a_whole_evaluation(reader):
    rows = answered(random_questions(30))
    found = evaluate_reader(reader, rows)
    report = found.report()
    assert report["n"] == 30
    assert 0 <= report["exact_match"] <= report["f1"] <= 1
    for by in ("length", "question", "answer"):
        parts = found.slices(by)
        assert sum(part["n"] for part in parts) == 30
        total = sum(part["n"] * part["f1"] for part in parts)
        assert total / 30 == pytest.approx(report["f1"])
    with pytest.raises(InputError, match=r"cannot slice by 'colour'; expected one of length, que"):
        found.slices("colour")
    wrong = found.mistakes()
    assert len(wrong) == 30 - round(30 * report["exact_match"])
    assert [each["f1"] for each in wrong] == sorted(each["f1"] for each in wrong)
    with pytest.raises(InputError, match="there are no questions to evaluate on"):
        evaluate_reader(reader, [])


def test_a_set_with_unanswerable_questions_tells_the_best_threshold(unsure):
    rows = answered(random_questions(20))
    rows.append(AskedQuestion(id="n", question="w1", context="w2 w3", answers=(), number=1,
                              source="rows.json"))  # fmt: skip
    report = evaluate_reader(unsure, rows).report()
    assert set(report["by_label"]) == {"answerable", "unanswerable"}
    assert report["best_f1"] >= report["f1"] - 1e-9
    assert 0 <= report["best_abstain_below"] <= 1


def test_bulk_answers_repeat_their_input_and_are_resumed(reader, tmp_path):
    rows = answered(random_questions(150))
    whole = answer_rows(BulkAnswers(reader), rows, tmp_path / "whole.jsonl")
    assert (whole.num_rows, whole.num_cut > 0) == (150, True)
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    record = json.loads(lines[7])
    assert list(record) == ["id", "question", "context", "answer", "start", "end", "score"]
    assert (record["id"], record["context"]) == ("7", rows[7].context)

    class StoppedError(Exception):
        pass

    def broken():
        yield from rows[:100]
        raise StoppedError

    with pytest.raises(StoppedError):
        answer_rows(BulkAnswers(reader), broken(), tmp_path / "again.jsonl")
    resumed = answer_rows(BulkAnswers(reader), rows, tmp_path / "again.jsonl")
    assert resumed.num_resumed == 64
    assert (tmp_path / "again.jsonl").read_bytes() == b"".join(lines)


def test_bulk_answers_to_other_questions_are_not_gone_on_from(reader, tmp_path):
    rows = answered(random_questions(80))

    def broken():
        yield from rows[:70]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(reader), broken(), tmp_path / "a.jsonl")
    others = answered(random_questions(80, seed=2))
    with pytest.raises(InputError, match="is not the row that was answered in"):
        answer_rows(BulkAnswers(reader), others, tmp_path / "a.jsonl")


def changed(folder, *keys, to):
    path = folder / "config.json"
    data = json.loads(path.read_text())
    inner = data
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = to
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("kind",), "matcher", "expected a reader, found kind 'matcher'"),
        (("task", "name"), "write", "unknown task 'write'"),
        (("task", "step"), 0, "step must be a whole number of at least 1, got 0"),
        (("task", "steps"), 3, "task has no setting 'steps'"),
        (("model", "config", "vocab_size"), 9, "entries, but config.json says 9"),
        (("model", "config", "output_size"), 3, "the model has 3 outputs, but its task needs 2"),
        (("model", "config", "spelling"), None, "does not say how long words are spelt"),
    ],
)
def test_a_damaged_config_is_told(damaged, keys, value, message):
    changed(damaged, *keys, to=value)
    with pytest.raises(BundleError, match=message) as caught:
        load_reader(damaged)
    assert "\n" not in str(caught.value)


def test_graphs_of_another_model_are_told(damaged, tmp_path):
    other = exported_reader(make_reader(tmp_path / "o", num_layers=3), tmp_path / "other").bundle
    shutil.copy(other / "onnx/read.onnx", damaged / "onnx/read.onnx")
    shutil.copy(other / "onnx/weights.json", damaged / "onnx/weights.json")
    with pytest.raises(BundleError, match="read takes 'modelling.2.B', which the bundle lacks"):
        load_reader(damaged)


def test_weights_that_are_not_finite_are_told(damaged):
    weights = load_file(damaged / "model.safetensors")
    weights["head.start.weight"][0, 0] = np.nan
    save_file(weights, damaged / "model.safetensors")
    for backend in ("onnx", "torch"):
        with pytest.raises(BundleError, match=r"head\.start\.weight holds a number that is not fi"):
            load_reader(damaged, backend=backend)


@pytest.mark.parametrize(
    ("question", "group"),
    [("Where?", "where"), ("how many?", "how"), ("Whose, then?", "whose"),
     ("In which year?", "other"), ("Whenever", "other"), ("?", "other"), ("", "other")],
    ids=str,
)  # fmt: skip
def test_questions_are_grouped_by_how_they_begin(question, group):
    assert beginning(question) == group
