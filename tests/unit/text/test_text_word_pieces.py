"""Words that come ready cut, as pieces of a vocabulary."""

from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.text import BERT_RESERVED, PieceEncoder, TextConfig, pipeline_from_pieces

PIECES = [*BERT_RESERVED, *"abc", "##a", "##b", "##c", "."]
words = st.text(alphabet="abcx.\u200b\u00ad ", min_size=1, max_size=12)


def cutting(limit):
    config = TextConfig(unit="bert", boundaries=True, max_tokens=limit)
    return PieceEncoder(pipeline_from_pieces(PIECES, config))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(words, max_size=9), max_size=4), st.integers(3, 20))
def test_every_word_has_one_place_and_no_row_is_too_long(sentences, limit):
    cut = cutting(limit)
    for sentence, rows in zip(sentences, cut.rows(sentences), strict=True):
        assert sum(len(row.places) for row in rows) == len(sentence)
        assert len(rows) == 1 or all(row.places for row in rows[1:])
        for row in rows:
            assert len(row.ids) <= limit
            assert (row.ids[0], row.ids[-1]) == (cut.first, cut.last)
            assert row.places == sorted(set(row.places))
            assert all(0 < place < len(row.ids) - 1 for place in row.places)


def test_a_word_without_pieces_is_one_that_is_not_known():
    (row,) = cutting(9).rows([["ab", "\u200b", "x"]])[0]
    assert row.ids == [2, 5, 9, 1, 1, 3]
    assert row.places == [1, 3, 4]


def test_a_word_of_more_pieces_than_a_row_holds_is_cut():
    (row,) = cutting(5).rows([["abcabc"]])[0]
    assert len(row.ids) == 5
    assert row.places == [1]


def test_words_of_a_text_are_whole_in_a_pipeline_of_pieces():
    config = TextConfig(unit="bert", boundaries=True)
    pipeline = pipeline_from_pieces(PIECES, config)
    assert pipeline.word_spans(["Abc a.xx"]) == [[(0, 3), (4, 5), (5, 6), (6, 8)]]
    assert [name for name, _ in pipeline.pieces(["ab c"])[0]] == ["a", "##b", "c"]
