"""What is asked in words becomes rules over tokens."""

import pytest

from softquery.decoding import Greedy
from softquery.errors import ConfigError, InputError
from softquery.runtime.generate.request import GenerateRequest, RuleMaker, read_sources
from softquery.text import UNK_ID, TextConfig, build_pipeline

PIPELINE = build_pipeline(["a b c d"], TextConfig(boundaries=True, max_tokens=8))


def rules(text="a b", most=None, **asked):
    (source,) = read_sources([text], PIPELINE)
    return RuleMaker(PIPELINE, "free", most)(source, GenerateRequest(**asked))


def test_sources_keep_what_the_vocabulary_lacks():
    (source,) = read_sources(["a zebra b"], PIPELINE)
    assert source.tokens == ("a", "zebra", "b")
    assert source.num_unknown == 1
    assert source.ids[2] == UNK_ID
    (long,) = read_sources(["a " * 20], PIPELINE)
    assert long.num_cut == 14
    assert len(long.tokens) == 6


def test_lengths_follow_the_source_unless_they_are_asked_for():
    assert rules().max_length == 24
    assert rules(max_length=7, min_length=2).min_length == 2
    assert rules(most=5).max_length == 5
    with pytest.raises(ConfigError, match="max_length 9 is more than the 5 positions"):
        rules(most=5, max_length=9)
    with pytest.raises(ConfigError, match=r"min_length \(3\) is above max_length \(2\)"):
        GenerateRequest(min_length=3, max_length=2)
    with pytest.raises(ConfigError, match="unknown rule 'rhyme'"):
        GenerateRequest(rules=("rhyme",))
    with pytest.raises(ConfigError, match="^ban must be a list of words, got 'dog'$"):
        GenerateRequest(ban="dog")
    with pytest.raises(ConfigError, match="^max_length must be a whole number, got '9'$"):
        GenerateRequest(max_length="9")


def test_words_become_tokens():
    number = PIPELINE.token_id("c")
    assert number in rules(ban=("c",)).banned
    assert UNK_ID in rules().banned
    assert rules(require=("c",)).required == (number,)
    assert rules(prefix="c d").prefix == tuple(PIPELINE.encode_ids(["c d"])[0][1:-1])
    assert rules(ban=("c d",)).constraint is not None
    with pytest.raises(InputError, match="banned: the model's vocabulary does not hold 'zebra'"):
        rules(ban=("zebra",))
    with pytest.raises(InputError, match=r"'c d' is 2 tokens of the model \(c d\)"):
        rules(require=("c d",))
    with pytest.raises(InputError, match="token 'c' is required, but not allowed"):
        rules(require=("c",), ban=("c",))


def test_a_prefix_that_the_model_lacks_is_named():
    with pytest.raises(InputError, match="prefix: the model's vocabulary does not hold 'c zebra'"):
        rules(prefix="c zebra")


def test_words_are_checked_whatever_the_source():
    maker = RuleMaker(PIPELINE, "free", None)
    maker.check_words(GenerateRequest(prefix="a b c d", require=("d",), ban=("c d d",)))
    with pytest.raises(InputError, match="the prefix holds token 'c', which is banned"):
        maker.check_words(GenerateRequest(prefix="c", ban=("c",)))
    with pytest.raises(InputError, match="required: the model's vocabulary does not hold 'zebra'"):
        maker.check_words(GenerateRequest(require=("zebra",)))
    with pytest.raises(
        InputError, match="2 required tokens do not fit into the remaining length of 1"
    ):
        maker.check_words(GenerateRequest(require=("a", "b"), max_length=1))


@pytest.mark.parametrize("asked", [{"max_length": 3}, {"min_length": 1}], ids=str)
def test_lines_of_couplets_have_the_length_of_the_upper_one(asked):
    pipeline = build_pipeline(["春花秋月"], TextConfig(unit="characters", boundaries=True))
    maker = RuleMaker(pipeline, "couplet", None)
    (source,) = read_sources(["春花"], pipeline)
    with pytest.raises(ConfigError, match="no least or longest length goes with the rules form"):
        maker(source, GenerateRequest(**asked))
    free = maker(source, GenerateRequest(rules=(), **asked))
    assert (free.min_length or free.max_length) == next(iter(asked.values()))


def test_sources_that_ask_the_same_share_their_rules():
    maker = RuleMaker(PIPELINE, "free", None)
    one, other, third = read_sources(["a b", "c d", "a b c"], PIPELINE)
    request = GenerateRequest(strategy=Greedy())
    assert maker(one, request) is maker(other, request)
    assert maker(one, request) is not maker(third, request)


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_text_is_named(text):
    with pytest.raises(InputError, match="the texts, row 2: is empty"):
        read_sources(["a", text], PIPELINE)
