"""`softquery train tag FILE`: names in sentences, on a shipped model that stays as it is."""

import json
import shutil

import pytest
from running import softquery
from tiny_tags import named, write_columns

import softquery as sq
from softquery.bundle import read_bundle
from softquery.errors import BundleError, InputError

SENTENCES = named(40)
NEW = [word for word, _ in named(60)[55]]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("tags")
    write_columns(place / "names.conll", SENTENCES)
    answer = softquery(
        "train", "tag", place / "names.conll", "--init", "match-en", "--output", place / "mine"
    )
    assert answer.code == 0, answer.err
    return place, answer


def test_what_was_found_is_said(made):
    place, answer = made
    assert f"{place / 'names.conll'}: a word in each line" in answer.err
    assert "40 sentences, tags in iob1 (PER 40, LOC 26)" in answer.err
    assert "words are read by match-en (as named), which stays as it is" in answer.err
    assert "each by a model of 5 that had not seen it (cross-validation)" in answer.out


def test_the_model_tags_without_torch_and_is_measured(made):
    place, _ = made
    bundle = read_bundle(place / "mine")
    assert (bundle.config.kind, bundle.config.base) == ("tagger", "match-en")
    assert bundle.metrics["dev"]["f1"] > 0.9
    assert bundle.metrics["training"]["learnt"] is True
    answer = softquery("tag", " ".join(NEW), "--model", place / "mine", "--json")
    spans = json.loads(answer.out)["spans"]
    assert [each["label"] for each in spans] == ["PER", "LOC"]
    measured = softquery("evaluate", place / "mine", "--data", place / "names.conll", "--json")
    assert json.loads(measured.out)["n"] == 40


def test_the_report_lists_labels_and_mistakes(made):
    place, _ = made
    report = json.loads((place / "mine" / "report.json").read_text(encoding="utf-8"))
    assert report["labels"] == {"PER": 40, "LOC": 26}
    assert [each["label"] for each in report["by_class"]] == ["PER", "LOC"]
    page = (place / "mine" / "report.html").read_text(encoding="utf-8")
    assert "F1 of spans" in page
    assert "other.conll" in page


def test_a_table_with_a_word_in_each_row(tmp_path):
    lines = ["Sentence #,Word,POS,Tag"]
    for number, sentence in enumerate(SENTENCES[:12], 1):
        for place, (word, tag) in enumerate(sentence):
            lines.append(f"{f'Sentence {number}' if not place else ''},{word},X,{tag}")
    (tmp_path / "words.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = []
    model = sq.train(
        tmp_path / "words.csv", "tag", output=tmp_path / "mine", init="match-en", say=told.append
    )
    assert "sentence: “Sentence #” (by its name)" in told
    assert model.report["rows"] == 12
    assert model.report["labels"]["PER"] == 12


def test_rows_in_memory_and_a_sentence_in_each_row(tmp_path):
    rows = [
        {"tokens": [word for word, _ in each], "ner_tags": [tag for _, tag in each]}
        for each in SENTENCES[:12]
    ]
    found = sq.train(rows, "tag", output=tmp_path / "lists", init="match-en")
    spaced = [{name: " ".join(cells) for name, cells in row.items()} for row in rows]
    other = sq.train(spaced, "tag", output=tmp_path / "spaces", init="match-en")
    assert found.report["figures"] == other.report["figures"]
    assert found.predict([NEW])[0].tags == other.predict([NEW])[0].tags


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"tokens": "a b", "tags": "O O"}] * 9, "no word of 9 sentences has another tag than O"),
        ([{"tokens": "a b", "tags": "O B-X"}] * 3, "3 sentences with tags; expected at least 8"),
        ([{"tokens": "a b", "tags": "O"}] * 9, "2 words in “tokens”, 1 tags in “tags”"),
        ([{"tokens": "a b", "kind": "O"}] * 9, "no column of tags; found: tokens, kind"),
    ],
)
def test_what_teaches_nothing_is_refused(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        sq.train(rows, "tag", output=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_without_the_package_of_models_words_are_read_by_a_shipped_one(tmp_path, monkeypatch):
    def missing(name):
        if name == "elmo-en":
            raise BundleError("elmo-en is not installed: pip install softquery-models")
        return sq.zoo.resolve(name)

    monkeypatch.setattr("softquery.running.spreadsheet.tag_sheet.resolve", missing)
    write_columns(tmp_path / "names.conll", SENTENCES[:12])
    told = []
    sq.train(tmp_path / "names.conll", "tag", output=tmp_path / "mine", say=told.append)
    (warning,) = [line for line in told if "pip install softquery-models" in line]
    assert "match-en reads the words instead" in warning
    assert read_bundle(tmp_path / "mine").config.base == "match-en"


def test_a_damaged_head_is_refused(made, tmp_path):
    place, _ = made
    shutil.copytree(place / "mine", tmp_path / "mine")
    config = json.loads((tmp_path / "mine" / "config.json").read_text(encoding="utf-8"))
    for change, message in (
        ({"base_fingerprint": "0" * 32}, "had other weights"),
        ({"base": "match-zh"}, "was made for another match-zh"),
    ):
        (tmp_path / "mine" / "config.json").write_text(
            json.dumps({**config, **change}), encoding="utf-8"
        )
        with pytest.raises(BundleError, match=message):
            sq.load(tmp_path / "mine")
    model = {**config["model"], "config": {**config["model"]["config"], "clues": "letters"}}
    (tmp_path / "mine" / "config.json").write_text(
        json.dumps({**config, "model": model}), encoding="utf-8"
    )
    with pytest.raises(BundleError, match="clues must be words or characters"):
        sq.load(tmp_path / "mine")
