"""A search in steps finds what a search in one go finds, to the bit, and says what it costs."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from softquery.errors import ConfigError, InputError
from softquery.search import Index, IndexSettings


def in_steps(index, *args, shuffle=None, **options):
    """All steps of a search, those of a kind in any order."""
    search = index.steps(*args, **options)
    for _ in search.recall():
        pass
    for steps in (search.comparisons, search.alignments):
        found = list(steps())
        if shuffle is not None:
            shuffle.shuffle(found)
        for step in found:
            step.run()
    return search.result()


def many_rows(count=90):
    """Rows of many lengths, so that batches differ."""
    draw = random.Random(3)
    return [
        {
            "id": f"r{number}",
            "question": " ".join(f"w{draw.randrange(90)}" for _ in range(1 + number % 37)),
            "kind": "even" if number % 2 == 0 else "odd",
        }
        for number in range(count)
    ]


@pytest.fixture(params=["int3", "int8", "float16", "none"])
def large(request, model, tmp_path):
    settings = IndexSettings(encodings=request.param, min_score=0.0)
    index = Index.build(
        many_rows(), tmp_path / "large.sq", model=model, settings=settings, threads=1
    )
    index.add([{"id": "new", "question": "w1 w2 w3"}])  # a second segment
    return index


@pytest.mark.parametrize("query", ["w1 w2 w3 w4", "w5", "nothing known", "w1 " * 300])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"top_k": 40, "candidates": 90},
        {"top_k": 7, "candidates": 3, "explain": True},
        {"where": {"kind": ["odd", "none"]}, "min_score": 0.5, "explain": True},
    ],
)
def test_steps_find_what_a_search_finds(large, query, options):
    expected = large.find(query, **options)
    found = in_steps(large, query, shuffle=random.Random(1), **options)
    assert (found.hits, found.others) == (expected.hits, expected.others)
    assert set(found.seconds) >= {"read", "vectors", "words", "rerank", "total"}


def test_models_that_compare_vectors(siamese, tmp_path):
    settings = IndexSettings(min_score=0.0)
    index = Index.build(many_rows(), tmp_path / "s.sq", model=siamese, settings=settings, threads=1)
    expected = index.find("w1 w2", top_k=40, candidates=90)
    assert in_steps(index, "w1 w2", top_k=40, candidates=90).hits == expected.hits


def test_steps_may_run_in_several_threads(large):
    search = large.steps("w1 w2 w3", top_k=90, candidates=90, explain=True)
    list(search.recall())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda step: step.run(), search.comparisons()))
        list(pool.map(lambda step: step.run(), search.alignments()))
    assert (
        search.result().hits == large.find("w1 w2 w3", top_k=90, candidates=90, explain=True).hits
    )


def test_a_step_costs_the_tokens_of_its_pairs(large):
    rows = list(large.rows())
    search = large.steps("w1 w2 w3", candidates=1000)
    list(search.recall())
    costs = [step.tokens for step in search.comparisons()]
    lengths = [len(row["question"].split()) for row in rows]
    assert search.num_tokens == 3
    assert 0 < sum(costs) <= sum(lengths) + 3 * len(rows)
    assert max(costs) <= 2 * 13 * (3 + max(lengths))


def test_weights_of_alignments_are_known_before_they_are_computed(large):
    search = large.steps("w1 w2 w3 w4", top_k=5, explain=True)
    list(search.recall())
    for step in search.comparisons():
        step.run()
    steps = search.alignments()
    assert len(steps) == 5
    for step in steps:
        step.run()
    found = [hit["alignment"] for hit in search.result().hits]
    assert search.num_weights == 2 * sum(
        len(each["first_tokens"]) * len(each["second_tokens"]) for each in found
    )


def test_what_cannot_be_searched_is_refused_at_once(large):
    with pytest.raises(ConfigError, match="top_k"):
        large.steps("w1", top_k=0)
    with pytest.raises(InputError, match="no column 'colour'"):
        list(large.steps("w1", where={"colour": "red"}).recall())


def test_many_values_of_a_condition_are_looked_up_in_one_pass(large, monkeypatch):
    """Each took a mask of its own: 300,000 of them took as many bytes for every row."""
    asked = []
    cells = type(large.segments[0].cells)
    holds = cells.holds

    def counted(self, column, *values):
        asked.append(len(values))
        return holds(self, column, *values)

    monkeypatch.setattr(cells, "holds", counted)
    values = [f"r{number}" for number in range(0, 20_000, 2)]
    hits = large.search("w1 w2 w3", where={"id": values}, top_k=90, candidates=90)
    assert asked == [10_000] * len(large.segments)
    assert hits
    assert all(int(hit["id"][1:]) % 2 == 0 for hit in hits)
