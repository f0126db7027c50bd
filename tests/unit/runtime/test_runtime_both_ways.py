"""Lower lines ordered by how well both lines of a couplet answer each other."""

import pytest

pytest.importorskip("torch", reason="random weights need the extra [train]")

from small_generators import make_generator
from softquery.decoding import Beam, Greedy, Sampling
from softquery.errors import ConfigError
from softquery.runtime import GenerateRequest, load_generator

UPPERS = ["w1 w2 w3", "w4 w5", "w6"]


@pytest.fixture(scope="module")
def poet(tmp_path_factory):
    return load_generator(
        make_generator(tmp_path_factory.mktemp("poet") / "b", "transformer", form="couplet")
    )


def test_the_best_of_all_that_a_beam_keeps(poet):
    plain = poet.generate(UPPERS, GenerateRequest(strategy=Beam(size=8, num_best=8)))
    found = poet.generate(
        UPPERS, GenerateRequest(strategy=Beam(size=8, num_best=3), rank="both_ways")
    )
    for upper, all_lines, best in zip(UPPERS, plain, found, strict=True):
        back, counts = poet.log_likelihoods([line.text for line in all_lines], [upper] * 8)
        scores = {
            line.text: (line.log_probability + float(each)) / (len(line.tokens) + 1 + count)
            for line, each, count in zip(all_lines, back, counts, strict=True)
        }
        wanted = sorted(scores, key=lambda text: -scores[text])[:3]
        assert [line.text for line in best] == wanted
        assert [line.score for line in best] == pytest.approx([scores[text] for text in wanted])
    firsts = [[lines[0].text for lines in some] for some in (plain, found)]
    assert firsts[0] != firsts[1]


def test_one_text_and_drawn_ones_are_scored_as_well(poet):
    one = poet.predict(UPPERS, GenerateRequest(strategy=Greedy(), rank="both_ways"))
    assert [each.text for each in one] == [
        each.text for each in poet.predict(UPPERS, GenerateRequest(strategy=Greedy()))
    ]
    drawn = poet.generate(
        UPPERS, GenerateRequest(strategy=Sampling(num_samples=4), rank="both_ways")
    )
    for lines in drawn:
        assert len(lines) == 4
        assert [each.score for each in lines] == sorted((e.score for e in lines), reverse=True)


def test_an_explanation_is_of_the_text_that_comes_first(poet):
    request = GenerateRequest(strategy=Beam(size=8), rank="both_ways")
    assert poet.explain(UPPERS[0], request).text == poet.predict(UPPERS[:1], request)[0].text


def test_a_line_without_a_text_stays_without_one(poet):
    banned = tuple(f"w{number}" for number in range(20, 96))
    request = GenerateRequest(strategy=Beam(size=2), ban=banned, rank="both_ways")
    hopeless = " ".join(f"w{number}" for number in range(20))
    assert [len(each) for each in poet.generate([hopeless, "w1"], request)] == [0, 1]
    assert poet.generate([hopeless], request) == [[]]


def test_it_is_for_couplets(tmp_path):
    translator = load_generator(make_generator(tmp_path / "b", "seq2seq"))
    with pytest.raises(ConfigError, match="^ranking both ways is for models of couplets$"):
        translator.predict(["w1"], GenerateRequest(rank="both_ways"))
    with pytest.raises(ConfigError, match="^rank must be likelihood or both_ways, got 'fit'$"):
        GenerateRequest(rank="fit")
