"""Valid bodies with something changed in them."""

import copy
import json
import random
from collections.abc import Sequence
from typing import Any

TOKENS = [
    b"null", b"true", b"-1", b"1e999", b"NaN", b'"', b'""', b"[]", b"{}", b"[[", b"\\u0000",
    b'\\ud800"', b"\xff", b"9" * 40, b'"\xf0\x9f\x92\xa9"', b",", b":", b"0.5", b'"elmo-en"',
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**63, 1e308, 0.5, "", " ", "\x00", "<script>", "a" * 3000, [],
    {}, [[]], [""], ["a", "b"], ["a"] * 200, [["a", "b"]], {"text": "a"}, "elmo-en", "match-zh",
    "花呗怎么提额", "\ud800", "\u202e", ["a", 1], [None],
]  # fmt: skip
SEEDS: list[tuple[str, Any]] = [
    ("/rerank", {"query": "a b", "texts": ["a", "c"], "model": "match-en", "truncate": True}),
    ("/rerank", {"query": "a b", "texts": ["a"], "raw_scores": True, "return_text": True}),
    ("/embed", {"inputs": ["a", "b"], "normalize": True, "model": "elmo-en"}),
    ("/predict", {"inputs": [["a", "b"]], "model": "nli-en"}),
    ("/similarity", {"inputs": {"source_sentence": "a", "sentences": ["b"]}, "parameters": {}}),
    ("/", {"inputs": "a"}),
    ("/", {"inputs": ["a"], "parameters": {"normalize": True}}),
    ("/models/match-en", {"inputs": [["a", "b"]], "raw_scores": True}),
    ("/pipeline/feature-extraction", {"inputs": "a", "truncate": True}),
    ("/v1/embeddings", {"input": "a", "encoding_format": "base64", "dimensions": 400}),
    ("/v1/rerank", {"query": "a b", "documents": ["a", {"text": "b"}], "top_n": 1}),
    ("/v2/rerank", {"query": "a b", "documents": ["a"], "top_n": 2, "return_documents": True}),
    ("/v1/score", {"text_1": ["a"], "text_2": ["a b", "b"]}),
    ("/v1/match", {"pairs": [{"sentence1": "a", "sentence2": "a b"}]}),
    ("/v1/explain", {"sentence1": "a", "sentence2": "a b", "model": "match-zh"}),
]
TASKS: list[tuple[str, Any]] = [
    ("/", {"inputs": "a", "parameters": {"top_k": 1, "function_to_apply": "softmax"}}),
    ("/", {"inputs": ["a b"], "parameters": {"ignore_labels": ["X"]}}),
    ("/", {"inputs": {"question": "a?", "context": "a b"}, "parameters": {"top_k": 1}}),
    ("/", {"inputs": [["a"], ["b"]]}),
    ("/models/tagger-en", {"inputs": "a b", "parameters": {"aggregation_strategy": "none"}}),
    ("/models/sentiment-en", {"inputs": ["a", "b"], "truncate": True}),
    ("/pipeline/text-classification", {"inputs": "a", "parameters": {"top_k": 2}}),
    ("/pipeline/token-classification", {"inputs": ["a", "b c"], "parameters": {}}),
    ("/pipeline/question-answering", {"inputs": {"question": "a", "context": "b"}}),
    ("/pipeline/translation", {"inputs": "a", "parameters": {}, "stream": False}),
]


SEARCHES: list[tuple[str, Any]] = [
    ("/v1/search", {"query": "a password", "top_k": 3, "where": {"category": ["account"]}}),
    ("/v1/search", {"query": "a b", "index": "chinese", "explain": True, "min_score": 0.1}),
    ("/v1/search", {"query": ["a password", "b"], "top_k": 2}),
    ("/v1/search", {"query": "a", "candidates": 9, "where": {"id": "account-01"}}),
    ("/v1/search", {"query": "a password", "stages": ["words", "vectors"], "min_score": 0.2}),
]


def mutated(draw: random.Random, seeds: Sequence[tuple[str, Any]] = SEEDS) -> tuple[str, bytes]:
    """An address, and a body in which bytes, tokens, fields or values were changed."""
    path, seed = draw.choice(seeds)
    change = draw.choice([_bytes_changed, _values_changed, _values_changed])
    return path, change(draw, seed)


def _bytes_changed(draw: random.Random, seed: Any) -> bytes:
    raw = bytearray(json.dumps(seed).encode())
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(raw) or 1)
        action = draw.randrange(5)
        if action == 0 and raw:
            raw[place] = draw.randrange(256)
        elif action == 1:
            raw[place:place] = draw.choice(TOKENS)
        elif action == 2:
            del raw[place : place + draw.randint(1, 9)]
        elif action == 3:
            raw[place:place] = raw[place : place + draw.randint(1, 40)]
        else:
            raw = raw[: draw.randrange(len(raw) or 1)] or raw
    return bytes(raw)


def _values_changed(draw: random.Random, seed: Any) -> bytes:
    body = copy.deepcopy(seed)
    for _ in range(draw.randint(1, 3)):
        holder, key = draw.choice(list(_places(body)) or [(body, "inputs")])
        action = draw.randrange(4)
        if action == 0:
            holder.pop(key, None) if isinstance(holder, dict) else holder.pop(key)
        elif action == 1 and isinstance(holder, dict):
            holder[draw.choice(["model", "truncate", "top_n", "x", "query", "inputs"])] = (
                copy.deepcopy(draw.choice(VALUES))
            )
        else:
            holder[key] = copy.deepcopy(draw.choice(VALUES))
    return json.dumps(body).encode()


def _places(node: Any) -> Any:
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(pairs):
        yield node, key
        if isinstance(value, (dict, list)):
            yield from _places(value)
