"""Mistakes as they are typed where a model stands behind another library's names."""

import re

import numpy as np
import pytest

import softquery
from softquery.errors import SoftqueryError
from softquery.integrations.given_models import vectors_of
from softquery.integrations.sentence_transformers import CrossEncoder, SentenceTransformer

ONE_STRING = 'expected a list of sentences, got one string; put brackets around it: ["…"]'
ONLY_VECTORS = "expected vectors, got texts; hand over what `encode` gave of them"

MISTAKES = {
    # The real library takes one pair, so that two strings are one; three, or one, are none.
    'cross.predict("ab")':
        'expected a list of pairs, got one string; put brackets around it: [("…", "…")]',
    'cross.predict(["ab", "cd", "ef"])': "the pairs, row 1: expected two texts, found 'ab'",
    'cross.predict([("a", "b"), ("c",)])': "the pairs, row 2: expected two texts, found ('c',)",
    'cross.predict({("a", "b"), ("c", "d")})':
        "expected a list of pairs, got set, which has no order; write sorted(…)",
    'cross.rank("a man eats", "someone eats")': ONE_STRING,
    'cross.rank(["a man eats"], ["someone eats"])':
        "the query: expected a string, found ['a man eats']",
    "encoder.encode(7)": "expected a list of sentences, got int",
    'encoder.encode([["a", "b"]])': "the texts, row 1: expected a string, found ['a', 'b']",
    'encoder.encode({"b", "a"})':
        "expected a list of sentences, got set, which has no order; write sorted(…)",
    'encoder.encode(["a", 7], prompt="q: ")': "the texts, row 2: expected a string, found 7",
    'encoder.similarity("a man eats", "someone eats")': ONLY_VECTORS,
    'encoder.similarity(encoder.encode(["a"]), ["someone eats"])': ONLY_VECTORS,
    'encoder.similarity_pairwise(["a"], ["b"])': ONLY_VECTORS,
    # LangChain, LlamaIndex and Haystack get their vectors of this.
    'vectors_of(own, "a man eats")': ONE_STRING,
    'vectors_of(matcher, "a man eats")': ONE_STRING,
    "vectors_of(own, [None])": "the texts, row 1: expected a string, found None",
}  # fmt: skip


@pytest.fixture(scope="module")
def typed():
    own = softquery.load("embed-en", threads=1)
    matcher = softquery.load("match-en", threads=1)
    return {
        "own": own, "matcher": matcher, "vectors_of": vectors_of,
        "encoder": SentenceTransformer(own), "cross": CrossEncoder(matcher),
    }  # fmt: skip


@pytest.mark.parametrize("code", MISTAKES)
def test_mistake_under_another_name(typed, code):
    with pytest.raises((TypeError, SoftqueryError)) as caught:
        eval(code, typed)
    assert re.fullmatch(re.escape(MISTAKES[code]), str(caught.value)), str(caught.value)


def test_what_the_other_library_takes_is_answered(typed):
    cross, encoder = typed["cross"], typed["encoder"]
    pair = ("a man eats", "someone eats")
    assert cross.predict(pair) == cross.predict([pair])[0]
    assert cross.predict(list(pair)) == cross.predict(np.array([pair]))[0]
    assert encoder.encode(("a", "b")).shape == (2, 384)
    assert encoder.encode(np.array(["a", "b"])).shape == (2, 384)
    assert encoder.similarity(*encoder.encode(["a", "a"])).shape == (1, 1)
    assert cross.rank("a man eats", np.array(["it rains", "someone eats"]))[0]["corpus_id"] == 1
