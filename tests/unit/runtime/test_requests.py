"""What is asked in words becomes rules over tokens."""

import pytest

from softquery.decoding import Greedy
from softquery.errors import ConfigError, InputError
from softquery.runtime.requests import Request, RuleMaker, read_sources
from softquery.text import UNK_ID, TextConfig, build_pipeline

PIPELINE = build_pipeline(["a b c d"], TextConfig(boundaries=True, max_tokens=8))


def rules(text="a b", most=None, **asked):
    (source,) = read_sources([text], PIPELINE)
    return RuleMaker(PIPELINE, "free", most)(source, Request(**asked))


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
        Request(min_length=3, max_length=2)
    with pytest.raises(ConfigError, match="unknown rule 'rhyme'"):
        Request(rules=("rhyme",))


def test_words_become_tokens():
    number = PIPELINE.token_id("c")
    assert number in rules(banned=("c",)).banned
    assert UNK_ID in rules().banned
    assert rules(required=("c",)).required == (number,)
    assert rules(prefix="c d").prefix == tuple(PIPELINE.encode_ids(["c d"])[0][1:-1])
    assert rules(banned=("c d",)).constraint is not None
    with pytest.raises(InputError, match="banned: the model's vocabulary does not hold 'zebra'"):
        rules(banned=("zebra",))
    with pytest.raises(InputError, match=r"'c d' is 2 tokens of the model \(c d\)"):
        rules(required=("c d",))
    with pytest.raises(InputError, match="token 'c' is required, but may not come"):
        rules(required=("c",), banned=("c",))


def test_sources_that_ask_the_same_share_their_rules():
    maker = RuleMaker(PIPELINE, "free", None)
    one, other, third = read_sources(["a b", "c d", "a b c"], PIPELINE)
    request = Request(strategy=Greedy())
    assert maker(one, request) is maker(other, request)
    assert maker(one, request) is not maker(third, request)


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_text_is_named(text):
    with pytest.raises(InputError, match="the texts, row 2: is empty"):
        read_sources(["a", text], PIPELINE)
