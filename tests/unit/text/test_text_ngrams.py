"""Sub-words are hashed as fastText hashes them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.text import ngram_buckets

few = settings(max_examples=80, deadline=None)
words = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)


def fnv(text: str) -> int:
    """The hash as its definition has it, byte by byte, bytes above 127 widened with their sign."""
    value = 2166136261
    for byte in text.encode():
        signed = byte - 256 if byte > 127 else byte
        value = ((value ^ (signed & 0xFFFFFFFF)) * 16777619) % 2**32
    return value


@pytest.mark.parametrize(
    ("word", "grams"),
    [
        ("cat", ["<ca", "<cat", "<cat>", "cat", "cat>", "at>"]),
        ("a", ["<a>"]),
        ("", []),
        ("北京", ["<北京", "<北京>", "北京>"]),
    ],
)
def test_runs_of_characters_with_the_ends_marked(word, grams):
    expected = [fnv(gram) % 5000 for gram in grams]
    assert ngram_buckets(word, shortest=3, longest=6, num_buckets=5000) == expected


def test_the_marks_alone_are_no_ngrams():
    expected = [fnv(gram) % 999 for gram in ("<a", "a", "a>")]
    assert ngram_buckets("a", shortest=1, longest=2, num_buckets=999) == expected


@few
@given(words, st.integers(1, 4), st.integers(0, 3), st.integers(1, 10**7))
def test_numbers_and_bounds(word, shortest, more, num_buckets):
    longest = shortest + more
    found = ngram_buckets(word, shortest=shortest, longest=longest, num_buckets=num_buckets)
    assert all(0 <= bucket < num_buckets for bucket in found)
    length = len(word) + 2
    expected = sum(max(0, length - size + 1) for size in range(shortest, longest + 1))
    assert len(found) == expected - (2 if shortest == 1 else 0)


@few
@given(words)
def test_the_same_as_gensim(word):
    inner = pytest.importorskip("gensim.models.fasttext_inner")
    expected = [
        inner.ft_hash_bytes(gram) % 2_000_000 for gram in inner.compute_ngrams_bytes(word, 3, 6)
    ]
    assert ngram_buckets(word, shortest=3, longest=6, num_buckets=2_000_000) == expected


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"shortest": 0, "longest": 3, "num_buckets": 9}, "1 <= shortest <= longest, got 0 and 3"),
        ({"shortest": 4, "longest": 3, "num_buckets": 9}, "1 <= shortest <= longest, got 4 and 3"),
        ({"shortest": 3, "longest": 3, "num_buckets": 0}, "num_buckets must be at least 1, got 0"),
    ],
)
def test_what_makes_no_sense_is_refused(settings_, message):
    with pytest.raises(ValueError, match=message):
        ngram_buckets("word", **settings_)
