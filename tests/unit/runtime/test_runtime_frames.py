"""Data frames, Arrow tables and data sets in; what comes back is what a list gives."""

import numpy as np
import pytest

import softquery
from foreign_tables import STREAMS, TABLES
from softquery.answers import answer_columns
from softquery.errors import InputError

pytest.importorskip("torch")

FIRST, SECOND = ["w1 w2", "w3"], ["w4", "w5 w6 w7"]
every = pytest.mark.parametrize("make", {**TABLES, **STREAMS}.values(), ids=[*TABLES, *STREAMS])


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    from small_exported import every_kind

    folders = every_kind(tmp_path_factory.mktemp("frames"))
    del folders["vectors"]
    return {kind: softquery.load(folder, threads=1) for kind, folder in folders.items()}


@every
def test_pairs(models, make):
    pairs = list(zip(FIRST, SECOND, strict=True))
    given = make({"label": ["x", "y"], "sentence1": FIRST, "sentence2": SECOND})
    assert models["matcher"].predict(given) == models["matcher"].predict(pairs)
    given = make({"question": FIRST, "context": SECOND})
    assert models["reader"].predict(given) == models["reader"].predict(pairs)


@every
def test_texts(models, make):
    given, texts = make({"text": SECOND, "label": ["x", "y"]}), SECOND
    for kind in ("classifier", "tagger", "generator"):
        found, expected = models[kind].predict(given), models[kind].predict(texts)
        assert list(map(repr, found)) == list(map(repr, expected)), kind
    for kind in ("matcher", "embedder", "encoder"):
        assert np.array_equal(models[kind].encode(given), models[kind].encode(texts)), kind
    ranked = models["matcher"].rank("w1", given)
    assert ranked == models["matcher"].rank("w1", texts)


@every
def test_a_generators_own_column_comes_first(models, make):
    given = make({"text": FIRST, "source": SECOND})
    assert models["generator"].predict(given) == models["generator"].predict(SECOND)


@every
def test_sentences_that_are_cut_into_words(models, make):
    words = [text.split() for text in SECOND]
    tagger = models["tagger"]
    assert tagger.predict(make({"tokens": words})) == tagger.predict(words)


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow", "numpy"])
def test_one_column(models, name):
    package = pytest.importorskip(name)
    column = {"pandas": "Series", "polars": "Series", "pyarrow": "array", "numpy": "array"}[name]
    given = getattr(package, column)(SECOND)
    assert models["classifier"].predict(given) == models["classifier"].predict(SECOND)


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_names_of_columns_are_never_taken_for_texts(models, make):
    given = make({"w1": FIRST, "w2": SECOND})
    for call in (models["matcher"].predict, models["classifier"].predict, models["encoder"].encode):
        with pytest.raises(InputError, match='no column ".*"; found: w1, w2; '):
            call(given)


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_what_is_missing_is_named_by_its_row(models, make):
    with pytest.raises(InputError, match="^the texts, row 2: expected a string, found "):
        models["classifier"].predict(make({"text": ["w1", None]}))


def test_every_model_says_what_it_is(models):
    for kind, model in models.items():
        name = model.bundle.path.name
        assert repr(model).startswith(f"{type(model).__name__}({name!r}, backend='onnx', "), kind
        assert len(repr(model)) < 200, kind


def test_answers_as_columns(models):
    found = models["matcher"].predict(zip(FIRST, SECOND, strict=True))
    labels = models["matcher"].labels
    columns = answer_columns(found)
    assert list(columns) == ["label", "score", *(f"probability_{label}" for label in labels)]
    shares = np.array([columns[f"probability_{label}"] for label in labels]).T
    expected = models["matcher"].predict_proba(list(zip(FIRST, SECOND, strict=True)))
    assert np.array_equal(shares, expected)
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(answer_columns(models["tagger"].predict(SECOND)))
    assert table["tokens"].to_pylist() == [text.split() for text in SECOND]


@pytest.mark.parametrize("odd", ["same", {"label": "same"}, 7, ["same"], [{"label": "same"}]])
def test_what_are_no_answers(odd):
    with pytest.raises(TypeError, match="^expected (a list of answers|answers of one kind), got "):
        answer_columns(odd)
