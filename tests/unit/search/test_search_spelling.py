"""Misspelt words of a query find the rows that have the word that was meant."""

import pytest

from softquery.search import Index
from softquery.search.storage.spelling import Spellings, num_mistakes

ROWS = [
    {"id": "password", "question": "How do I reset my password?"},
    {"id": "delivery", "question": "How long does delivery take?"},
    {"id": "invoice", "question": "Where is my invoice?"},
    {"id": "cards", "question": "Which cards do you accept?"},
]


@pytest.fixture(scope="module")
def faq(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spelling") / "faq.sq"
    return Index.build(ROWS, folder, model="match-en", threads=1)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("pasword", "password"),
        ("passwrod", "password"),
        ("passwordd", "password"),
        ("my ivnoice", "invoice"),
        ("delivrey", "delivery"),
        ("DELIVEY", "delivery"),
        ("delivry tkae", "delivery"),
        ("wich one", "cards"),
    ],
)
def test_a_typo_is_recalled_by_words_and_by_all_stages(query, expected, faq):
    for stages in (["words"], ["words", "vectors", "rerank"]):
        found = faq.find(query, stages=stages, min_score=0.0)
        assert found.hits[0]["id"] == expected
        assert found.note.startswith("read as: ")


@pytest.mark.parametrize(
    "query", ["passport", "xyzzyxq", "voice", "bake", "密马", "pass", "q1w2e3r4"]
)
def test_another_word_is_no_typo(query, faq):
    found = faq.find(query, stages=["words"], min_score=0.0)
    assert (found.hits, found.note) == ([], None)


def test_a_typo_is_looked_up_in_every_segment(faq):
    faq.add([{"id": "gift", "question": "Do you sell vouchers?"}])
    assert faq.search("vuochers", stages=["words"], min_score=0.0)[0]["id"] == "gift"
    faq.delete(["gift"])


def test_mistakes_are_counted():
    assert num_mistakes("password", "pasword", 2) == 1
    assert num_mistakes("ab", "ba", 1) == 1
    assert num_mistakes("kitten", "sitting", 3) == 3
    assert num_mistakes("kitten", "sitting", 1) == 2  # more than one
    assert Spellings([]).nearest("password") is None
    assert Spellings(["pay", "密码"]).nearest("pays") is None
