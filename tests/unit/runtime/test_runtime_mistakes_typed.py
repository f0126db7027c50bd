"""Mistakes as newcomers type them: each gives one exception that says what to type; none an answer.

Whoever uses scikit-learn, sentence-transformers or pandas brings their habits; those that mean
something else here must not be answered as if they meant it.
"""

import inspect
import re

import numpy as np
import pytest

import softquery
from softquery.errors import SoftqueryError

pytest.importorskip("torch")
pytest.importorskip("usearch")

ONE_STRING = 'expected a list of sentences, got one string; put brackets around it: ["…"]'
ONE_PAIR = 'expected a list of pairs, got one pair; put brackets around it: [("…", "…")]'

MISTAKES = {
    # Two texts, or one, where pairs are expected.
    'm.predict("a man eats")':
        'expected a list of pairs, got one string; put brackets around it: [("…", "…")]',
    'm.predict(("a man eats", "someone eats"))': ONE_PAIR,
    'm.predict(["a man eats", "someone eats"])': ONE_PAIR,
    'm.predict("a man eats", "someone eats")':
        "Matcher.predict() takes 2 positional arguments but 3 were given",
    'm.predict(["ab", "cd", "ef"])': "the pairs, row 1: expected two texts, found 'ab'",
    'm.predict([("a", "b", "c")])': "the pairs, row 1: expected two texts, found ('a', 'b', 'c')",
    'm.predict([("a man eats",)])': "the pairs, row 1: expected two texts, found ('a man eats',)",
    'm.predict([("a", "b"), ("c", None)])': "the pairs, row 2: expected two texts, found None",
    'm.predict([(["a"], ["b"])])': "the pairs, row 1: expected two texts, found ['a']",
    'm.predict([[("a", "b")]])': "the pairs, row 1: expected two texts, found [('a', 'b')]",
    'm.predict({("a", "b")})':
        "expected a list of pairs, got set, which has no order; write sorted(…)",
    'm.predict({"a man eats": "someone eats"})':
        "expected a list of pairs, got dict; hand over its texts in a list",
    "m.predict(None)":
        "expected a list of pairs, got NoneType; the call before it may have returned nothing",
    'm.predict_proba(("a man eats", "someone eats"))': ONE_PAIR,
    'm.explain("a man eats", ["someone eats"])':
        "the second text: expected a string, found ['someone eats']",
    'm.answers([0.9])': "the probabilities: expected rows of 3 numbers, found shape [1]",
    'm.decide("a man eats")': "the probabilities: expected rows of 3 numbers, found 'a man eats'",
    'm.parse_label(None)': "label None is not one of *",
    # A query and its documents.
    'm.rank("a man eats", "someone eats")': ONE_STRING,
    'm.rank(["someone eats"], "a man eats")':
        "the query: expected a string, found ['someone eats']",
    'm.rank("a man eats", [["someone eats"]])':
        "the texts, row 1: expected a string, found ['someone eats']",
    'm.rank("a man eats", ["someone eats"], 1)':
        "Matcher.rank() takes 3 positional arguments but 4 were given",
    'm.rank("a man eats", ["someone eats"], top_k="1")': "top_k must be a whole number, got '1'",
    'm.rank("a man eats", ["someone eats"], encodings=np.ones((1, 32)))':
        "expected what `encodings` gives, a list of arrays, got a matrix",
    'm.encodings("a man eats")': ONE_STRING,
    'm.read("a man eats")': ONE_STRING,
    # Sentence vectors, as sentence-transformers would allow.
    'e.encode("a man eats")': ONE_STRING,
    'e.encode([["a man eats", "someone eats"]])':
        "the texts, row 1: expected a string, found ['a man eats', 'someone eats']",
    'e.encode(["a man eats", 7])': "the texts, row 2: expected a string, found 7",
    'e.encode(b"a man eats")': "expected a list of sentences, got bytes; decode it to a string, "
        "and put brackets around that",
    'e.encode(Path("texts.txt"))': "expected a list of sentences, got *Path; read the file first, "
        "with softquery.files.read_rows",
    'e.similarity("a man eats", "someone eats")': ONE_STRING,
    'e.similarity(e.encode(["a man eats"])[0], ["someone eats"])':
        "the vectors: expected a matrix, a row per text, found shape [24]",
    'e.similarity(np.ones((2, 30)), ["someone eats"])':
        "the vectors: expected 1 to 24 numbers in each, found 30",
    'e.similarity(e.encode(["a"], dimensions=8), e.encode(["b"], dimensions=16))':
        "vectors of 8 numbers do not fit those of 16; name dimensions",
    'e.rank(["a man eats"], ["someone eats"])':
        "the query: expected a string, found ['a man eats']",
    'e.rank("a man eats", ["someone eats"], vectors=[[1, 2]])':
        "the vectors: expected what `encode` gives, found list",
    'e.similarity([1.0, 2.0], ["someone eats"])':
        "the texts, row 1: expected a string, found 1.0",
    'e.similarity([[1.0, 2.0]], [[1.0]])':
        "vectors of 1 numbers do not fit those of 2; name dimensions",
    # One text where several are expected, in every other task.
    'c.predict("so good")': ONE_STRING,
    'c.predict([("so", "good")])': "the texts, row 1: expected a string, found ('so', 'good')",
    'c.predict([float("nan")])': "the texts, row 1: expected a string, found nan",
    'c.predict({"sentence": ["so good"]})': 'the dict: no column "text"; found: sentence; choose '
        'a column yourself, such as frame["NAME"]',
    'c.explain(["so good"])': "the text: expected a string, found ['so good']",
    'c.explain("so good", label=0)': "label 0 is not one of *",
    't.predict("Ada slept")': ONE_STRING,
    't.words("Ada slept")': ONE_STRING,
    't.own_tags("Ada slept")': ONE_STRING,
    't.own_tags(["Ada slept"])':
        "the texts, row 1: expected a list of words, found 'Ada slept'",
    't.predict([[["Ada", "slept"]]])': "the texts, row 1: expected words, found ['Ada', 'slept']",
    'r.predict(("Who slept?", "Ada slept."))': ONE_PAIR,
    'r.predict("Who slept?", "Ada slept.")':
        "Reader.predict() takes 2 positional arguments but 3 were given",
    'r.candidates("Who slept?", ["Ada slept."])':
        "the context: expected a string, found ['Ada slept.']",
    'g.predict("ein Mann")': ONE_STRING,
    'g.predict(["ein Mann"], "beam")': "expected a GenerateRequest, got 'beam'",
    'b.embed("Ada slept")': ONE_STRING,
    'b.encode("Ada slept")': ONE_STRING,
    'b.embed(["Ada slept"], layers=True)':
        "layers must be one of all, mix, top, average, or a number, got True",
    'p.fill(["Ada [MASK]."])': "expected a text, got list",
    'p.fill("Ada [MASK].", candidates=[])':
        "candidates names no word; leave it out to choose among all words",
    'p.filler.predict("Ada [MASK].")': ONE_STRING,
    'p.filler.num_cut("Ada [MASK].")': ONE_STRING,
    'v.nearest(["king"])': "expected a word, found ['king']",
    'v.plane("king")': ONE_STRING,
    # An index.
    'i.search(["how do I pay?"])':
        "the query is of type list, expected text; search_many takes several",
    'i.search("how do I pay?", top_k="3")': "top_k must be a whole number, got '3'",
    'i.search("how do I pay?", where="topic=payment")':
        "where is of type str, expected columns with their values",
    'i.search_many("how do I pay?")': "queries is 'how do I pay?', expected a list of texts",
    'i.search_many({"how do I pay?", "where?"})': "queries is {*}, expected a list of texts",
    'i.add({"question": "how do I pay?", "answer": "by card"})':
        "expected a file or a list of mappings, got one mapping; put brackets around it: [{…}]",
    'i.add([("how do I pay?", "by card")])':
        "the data, row 1: expected a mapping, found a tuple",
    "i.add(None)": "expected a file or a list of mappings, got NoneType",
    'i.delete("how do I pay?")': "expected a list of ids, got one string",
    'i.add([{"title": "how do I pay?"}], columns=["title"])':
        "expected column names such as {\"text\": \"title\"}, got ['title']",
    'softquery.Index.build([{"question": "a"}], "faq.sq", settings={"vectors": "own"})':
        "settings must be IndexSettings(…), got {'vectors': 'own'}",
    # Models, measuring and training.
    'softquery.Matcher("match-en")':
        "Matcher needs what is opened already; write softquery.load('match-en')",
    'softquery.SentenceEncoder("embed-en", threads=1)':
        "SentenceEncoder needs what is opened already; write softquery.load('embed-en')",
    'softquery.WordVectors(Path("glove"))':
        "WordVectors needs what is opened already; write softquery.load_vectors('glove')",
    'softquery.Index("faq.sq")':
        "Index needs what is opened already; write softquery.Index.open('faq.sq')",
    'softquery.load("match-en", device=0)':
        "device must be a name such as 'cpu' or 'cuda', got 0",
    'softquery.train(None)': "expected a file or a list of mappings, got NoneType",
    'softquery.train([{"text": "so good"}], output="x", seed="1")':
        "seed must be a whole number, got '1'",
    'softquery.train([{"text": "so good"}], output="x", init=m)':
        "init must be the name or the folder of a model, got Matcher*",
    'softquery.train([{"text": "so good"}], output="x", callbacks=print)':
        "callbacks must be a list, got <built-in function print>",
    'softquery.load(["match-en"])':
        "expected the name or the folder of a model, got ['match-en']",
    'softquery.evaluate(m, "test.tsv")': "expected a list of rows, got str; read a file with "
        "list(softquery.files.read_rows(FILE, columns=[…]))",
    'softquery.evaluate(m, [("a", "b", "same")])':
        "the rows, row 1: expected a row of softquery.files, found ('a', 'b', 'same')",
}  # fmt: skip
"""What is typed, and what is said; a star stands for what depends on the machine."""


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """The names that a newcomer has in a session."""
    from small_exported import every_kind
    from small_sentence_encoders import make_sentence_encoder

    folder = tmp_path_factory.mktemp("typed")
    kinds = every_kind(folder / "kinds")
    letters = {"m": "matcher", "c": "classifier", "t": "tagger", "r": "reader", "g": "generator",
               "b": "embedder", "p": "encoder"}  # fmt: skip
    models = {name: softquery.load(kinds[kind], threads=1) for name, kind in letters.items()}
    models["v"] = softquery.load_vectors(kinds["vectors"])
    models["e"] = softquery.load(make_sentence_encoder(folder / "sentences"), threads=1)
    rows = [{"question": "w1 w2", "answer": "w3"}, {"question": "w4 w5", "answer": "w6"}]
    models["i"] = softquery.Index.build(rows, folder / "faq.sq", model=kinds["matcher"])
    return {**models, "softquery": softquery, "np": np, "Path": type(folder)}


def test_there_are_forty():
    assert len(MISTAKES) >= 40


@pytest.mark.parametrize("code", MISTAKES)
def test_mistake(typed, code):
    with pytest.raises((TypeError, ValueError, SoftqueryError)) as caught:
        eval(code, typed)
    expected = re.escape(MISTAKES[code]).replace(r"\*", ".*")
    assert re.fullmatch(expected, str(caught.value)), str(caught.value)


def test_what_was_meant_is_answered(typed):
    """The same models answer what the messages say to type."""
    right = [
        'm.predict([("a man eats", "someone eats")])',
        'm.rank("a man eats", ["someone eats"], top_k=1)',
        'm.explain("a man eats", "someone eats")',
        'e.similarity(e.encode(["a man eats"]), ["someone eats"])',
        'c.predict(["so good"])',
        't.predict([["Ada", "slept"]])',
        'r.predict([("Who slept?", "Ada slept.")])',
        'i.search_many(["w1 w2"])',
        'm.predict(zip(["a man eats"], ["someone eats"]))',
        'e.encode({"a man eats": 1}.keys())',
        'e.encode(["a man eats"], dimensions=np.int64(8))',
        'e.similarity(e.encode(["a man eats"]).tolist(), ["someone eats"])',
    ]
    for code in right:
        assert len(eval(code, typed)) if "explain" not in code else eval(code, typed).score, code


def test_texts_come_back_as_plain_strings(typed):
    """numpy's own strings would be printed as `np.str_('…')`."""
    texts = np.array(["w1 w2", "w3"])
    found = [typed["m"].rank("w1", texts)[0]["text"], typed["i"].search_many(texts)[0].query]
    assert [type(each) for each in found] == [str, str]


def test_frames_of_labelled_rows_are_measured(typed):
    """As a table by its columns, and as mappings; both as the rows of a file."""
    labels = list(typed["m"].labels)
    sentences = [f"w{number}" for number in range(len(labels))]
    table = {"sentence1": sentences, "sentence2": sentences[::-1], "label": labels}
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    reports = [softquery.evaluate(typed["m"], given).report() for given in (table, rows)]
    assert reports[0] == reports[1]
    assert reports[0]["n"] == len(labels)


def test_results_of_several_queries_are_tables_in_a_notebook(typed):
    found = typed["i"].search_many(["w1 w2", "w4"])
    assert found == list(found)
    assert found._repr_html_().count("<table>") == 2


def test_signatures_are_those_of_the_constructors():
    """What keeps a name from being opened does not hide what a class is made of."""
    names = list(inspect.signature(softquery.Matcher).parameters)
    assert names == ["bundle", "backend", "cache_bytes"]
