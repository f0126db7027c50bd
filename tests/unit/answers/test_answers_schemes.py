"""Tags of every scheme become spans and tags again, and read as seqeval reads them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.answers import (
    Span,
    TagError,
    TagSet,
    converted,
    detect_scheme,
    misfit,
    spans_of,
    tags_of,
)
from softquery.answers.tag_schemes import all_tags, legal_tags

SCHEMES = ("iob1", "iob2", "bioes", "bmes")
few = settings(max_examples=150, deadline=None)
labels = st.sampled_from(["PER", "LOC", "B-52"])


@st.composite
def sentences(draw):
    """A length, and spans that do not overlap."""
    found, place = [], 0
    for _ in range(draw(st.integers(0, 4))):
        start = place + draw(st.integers(0, 2))
        end = start + draw(st.integers(1, 3))
        found.append(Span(draw(labels), start, end))
        place = end
    return place + draw(st.integers(0, 2)), found


@few
@given(sentences(), st.sampled_from(SCHEMES))
def test_spans_come_back_from_every_scheme(sentence, scheme):
    length, spans = sentence
    tags = tags_of(spans, length, scheme)
    assert len(tags) == length
    assert spans_of(tags) == spans
    assert misfit(tags, scheme) is None


@few
@given(sentences(), st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_schemes_are_converted_into_each_other(sentence, one, other):
    length, spans = sentence
    assert converted(tags_of(spans, length, one), other) == tags_of(spans, length, other)


any_tags = st.lists(
    st.one_of(
        st.just("O"),
        st.tuples(st.sampled_from("BIES"), labels).map("-".join),
    ),
    max_size=9,
)


@few
@given(any_tags)
def test_any_tags_are_read_as_seqeval_reads_them(tags):
    entities = pytest.importorskip("seqeval.metrics.sequence_labeling").get_entities(tags)
    assert [(label, start, end + 1) for label, start, end in entities] == spans_of(tags)


@few
@given(any_tags, st.sampled_from(SCHEMES))
def test_a_misfit_is_where_the_scheme_would_write_another_tag(tags, scheme):
    found = misfit(tags, scheme)
    right = converted(tags, scheme)
    assert (found is None) == (tags == right)
    if found is not None:
        assert tags[: found.place] == right[: found.place]
        assert tags[found.place] != right[found.place]


@few
@given(sentences(), st.sampled_from(SCHEMES))
def test_what_a_scheme_writes_is_legal_in_it(sentence, scheme):
    length, spans = sentence
    tags = tags_of(spans, length, scheme)
    known = all_tags(["B-52", "LOC", "PER"], scheme)
    legal = legal_tags(known, scheme)
    ids = [known.index(tag) for tag in tags]
    if ids:
        assert legal.start[ids[0]]
        assert legal.end[ids[-1]]
    assert all(legal.between[one, other] for one, other in zip(ids, ids[1:], strict=False))


@few
@given(st.lists(st.integers(0, 8), min_size=1, max_size=6), st.sampled_from(SCHEMES))
def test_what_is_legal_is_as_the_scheme_writes_it(ids, scheme):
    known = all_tags(["X", "Y"], scheme)
    ids = [each % len(known) for each in ids]
    legal = legal_tags(known, scheme)
    pairs = zip(ids, ids[1:], strict=False)
    allowed = legal.start[ids[0]] and legal.end[ids[-1]]
    allowed = allowed and all(legal.between[one, other] for one, other in pairs)
    tags = [known[each] for each in ids]
    if allowed:
        assert misfit(tags, scheme) is None
    elif scheme != "iob1":  # whose B after another label means the same as I
        assert misfit(tags, scheme) is not None


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ([["I-X", "O"]], "iob1"),
        ([["B-X", "I-X", "O"]], "iob2"),
        ([["I-X", "B-X", "O"]], "iob1"),
        ([["S-X", "B-Y", "E-Y"]], "bioes"),
        ([["U-X", "B-Y", "L-Y"]], "bioes"),
        ([["B-X", "M-X", "E-X"]], "bmes"),
        ([["B", "M", "E", "S"]], "bmes"),
        ([["NOUN", "VERB"]], "plain"),
        ([["O", "O"]], "plain"),
        ([[]], "plain"),
        ([["B-X"]] * 9 + [["I-X"]], "iob2"),
    ],
)
def test_a_scheme_is_found(tags, scheme):
    assert detect_scheme(tags) == scheme


def test_bilou_is_bioes_by_other_letters():
    assert misfit(["U-X", "B-Y", "I-Y", "L-Y"], "bioes") is None
    assert converted(["U-X", "B-Y", "I-Y", "L-Y"], "bioes") == ["S-X", "B-Y", "I-Y", "E-Y"]


@pytest.mark.parametrize(
    ("tags", "scheme", "message"),
    [
        (["O", "B-X", "O"], "bioes", "'B-X' stands where bioes has 'S-X'"),
        (["I-X"], "iob2", "'I-X' stands where iob2 has 'B-X'"),
        (["NOUN"], "iob2", "'NOUN' is not a tag of iob2"),
    ],
)
def test_what_does_not_fit_is_told(tags, scheme, message):
    assert misfit(tags, scheme).message == message


def test_a_tag_set_knows_tags_of_other_schemes():
    tags = TagSet.found([["B-X", "I-X", "O", "B-Y"]], given="iob2")
    assert tags.labels[:5] == ("O", "B-X", "I-X", "E-X", "S-X")
    assert tags.write(["B-X", "E-X", "O"]) == ["B-X", "I-X", "O"]
    with pytest.raises(TagError, match=r"tag 'B-Z' is not one of X, Y") as caught:
        tags.ids(["O", "B-Z"], given="iob2")
    assert caught.value.place == 1
    assert TagSet.from_dict(tags.to_dict()) == tags


def test_plain_tags_stay_as_they_are():
    tags = TagSet.found([["NOUN", "B-X"]], given="plain")
    assert (tags.labels, tags.has_spans, tags.spans(["B-X"])) == (("B-X", "NOUN"), False, [])
    assert not any(part.any() for part in tags.forbidden())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"labels": ("O",)}, "labels must be two or more different tags"),
        ({"labels": ("O", "O")}, "labels must be two or more different tags"),
        ({"labels": ("a", "b"), "scheme": "bio"}, "scheme must be one of plain, iob1"),
        ({"labels": ("a", "b"), "scheme": "iob2"}, "scheme iob2 cannot be written as plain"),
        ({"labels": ("a", "b"), "scheme": "iob2", "written": "iob2"}, "labels must hold 'O'"),
        ({"labels": ("a", "b"), "decoding": "best"}, "decoding must be one of legal, any"),
    ],
)
def test_a_tag_set_refuses_what_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        TagSet(**settings)
    with pytest.raises(ValueError, match="labels must be a list of tags"):
        TagSet.from_dict({"labels": 3})
