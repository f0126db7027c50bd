"""A shipped sentence encoder: its card, from an export and the figures of the benchmark."""

import json
from argparse import Namespace

import pytest
from facts import Facts
from sentence_encoders import make_sentence_encoder
from shipment import put_in_place

import softquery as sq
from small_sentence_encoders import labelled_pairs
from small_sentence_encoders import make_sentence_encoder as make_bundle
from softquery.bundle import read_bundle
from softquery.errors import BundleError, InputError
from softquery.export import export_sentence_encoder
from softquery.files import fingerprint

FACTS = Facts(
    name="embed-xx", kind="sentence-encoder", purpose="A vector for a sentence.", languages=["en"],
    licence="cc-by-sa-4.0", largest_mb=1,
    data=[{"name": "lines", "rows": "texts", "licence": "CC BY 4.0"}],
    training={"teacher": "a large one", "model": "a BiLSTM", "machine": "on one machine"},
    limits=["It is small."],
)  # fmt: skip
FIGURES = {
    "stsb_en": {"n": 1500, "spearman": 0.87},
    "qqp_20k": {"n": 10, "accuracy": 0.8, "auc": 1},
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """An int8 export of a student that was trained for two epochs."""
    folder = tmp_path_factory.mktemp("sentences")
    bundle = read_bundle(make_bundle(folder / "trained"))
    training = {"seed": 1, "epochs": 2, "seconds": 3.0, "texts": 4}
    metrics = json.dumps({**bundle.metrics, "training": training})
    (bundle.path / "metrics.json").write_text(metrics, encoding="utf-8")
    rows = labelled_pairs([str(grade % 5) for grade in range(60)])
    options = {"int8": True, "limit": 100, "rows": rows}
    return export_sentence_encoder(read_bundle(bundle.path), folder / "out", **options).bundle


@pytest.fixture
def options(exported, tmp_path):
    """What the command line says, with figures of these very files."""
    widths = {
        "12": {"pairs": FIGURES, "intents": {}},
        "24": {"pairs": FIGURES, "intents": {"vira": {"n": 7, "first_answer": 0.5}}},
    }
    print_ = fingerprint([exported / "config.json", exported / "model.safetensors"])
    figures = {"models": {"embed-xx": {"fingerprint": print_, "widths": widths}}}
    (tmp_path / "quality.json").write_text(json.dumps(figures))
    return Namespace(runs=[exported], figures=tmp_path / "quality.json", gate=100)


def test_the_card_says_what_was_measured(options, tmp_path):
    made = make_sentence_encoder(FACTS, options, tmp_path)
    assert [check.passed for check in made.checks] == [True, True]
    put_in_place(tmp_path / "embed-xx", made)
    shipped = read_bundle(tmp_path / "embed-xx")
    assert "| Spearman's correlation | 0.87" in shipped.card
    assert "| Spearman's correlation, first 12 numbers | 0.87" in shipped.card
    assert shipped.card.index("first 12") > shipped.card.index("stsb_en dev")
    assert "nearest stored row has the right intent" in shipped.card
    assert "int8" in shipped.card
    assert shipped.metrics["quality"]["24"]["pairs"] == FIGURES
    assert sq.load(shipped.path).encode(["wa wb"]).shape == (1, 24)


def test_data_that_forbid_a_use_are_told(options, tmp_path):
    data = [*FACTS.data, {"name": "quora", "rows": 9, "licence": "research only"}]
    facts = Facts(**{**{name: getattr(FACTS, name) for name in FACTS.__slots__}, "data": data})
    checks = {check.what: check for check in make_sentence_encoder(facts, options, tmp_path).checks}
    assert not checks["free for any use"].passed
    assert checks["free for any use"].found == "research only"


def test_figures_of_other_files_are_refused(options, tmp_path):
    report = json.loads(options.figures.read_text())
    report["models"]["embed-xx"]["fingerprint"] = "0" * 16
    options.figures.write_text(json.dumps(report))
    with pytest.raises(BundleError, match=r"is not what .*quality.json has figures of"):
        make_sentence_encoder(FACTS, options, tmp_path)
    options.figures.write_text("{}")
    with pytest.raises(InputError, match="quality.json: has no figures of embed-xx"):
        make_sentence_encoder(FACTS, options, tmp_path)
    options.figures = None
    with pytest.raises(InputError, match="name its results by --figures"):
        make_sentence_encoder(FACTS, options, tmp_path)
