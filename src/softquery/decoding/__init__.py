"""From scores to answers: greedy, beam, sampling and Viterbi, and rules that texts keep to."""

from softquery.decoding.beam import Beam, beam_search
from softquery.decoding.couplet import (
    COUPLET_RULES,
    Characters,
    CoupletForm,
    CoupletRule,
    couplet_rules,
)
from softquery.decoding.decode import Strategy, decode
from softquery.decoding.greedy import Greedy, greedy, likelihood
from softquery.decoding.hypothesis import Hypothesis, Ranking
from softquery.decoding.phrase_rules import AllOf, BannedPhrases
from softquery.decoding.rules import Constraint, Rules
from softquery.decoding.sample import Sampling, sample
from softquery.decoding.step import (
    Candidates,
    Step,
    StepRequest,
    WholeStep,
    all_tokens,
    candidates_of,
    likeliest,
    with_watched,
)
from softquery.decoding.viterbi import Path, viterbi
from softquery.decoding.watched import WatchedStep

__all__ = [
    "COUPLET_RULES",
    "AllOf",
    "BannedPhrases",
    "Characters",
    "CoupletForm",
    "CoupletRule",
    "WatchedStep",
    "couplet_rules",
    "Beam",
    "Candidates",
    "Constraint",
    "Greedy",
    "Hypothesis",
    "Path",
    "Ranking",
    "Rules",
    "Sampling",
    "Step",
    "Strategy",
    "StepRequest",
    "WholeStep",
    "all_tokens",
    "beam_search",
    "candidates_of",
    "decode",
    "greedy",
    "likelihood",
    "likeliest",
    "sample",
    "viterbi",
    "with_watched",
]
