"""Decoding: greedy, beam search, sampling and Viterbi, and rules for generated texts."""

from softquery.decoding.beam import Beam, beam_search
from softquery.decoding.couplet import (
    COUPLET_RULES,
    Characters,
    CoupletForm,
    CoupletRule,
    couplet_rules,
)
from softquery.decoding.decode import Strategy, decode
from softquery.decoding.greedy_and_sampling import Greedy, Sampling, greedy, likelihood, sample
from softquery.decoding.hypothesis import Hypothesis, Ranking
from softquery.decoding.rules import AllOf, BannedPhrases, Constraint, Rules
from softquery.decoding.step import (
    Candidates,
    Step,
    StepRequest,
    WatchedStep,
    WholeStep,
    all_tokens,
    candidates_of,
    likeliest,
    with_watched,
)
from softquery.decoding.viterbi import Path, viterbi

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
