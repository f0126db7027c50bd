"""What TEI 1.7.1's OpenAPI document says of its addresses: what they take, answer and refuse.

A type is `text`, `number`, `whole`, `yes`, an object `{name: type}`, a list `[type]`; `?` follows
what may be null, and `|` stands between alternatives.
"""

from dataclasses import dataclass

REFUSALS = (413, 422, 424, 429)
ERROR_TYPES = {"Unhealthy", "Backend", "Overloaded", "Validation", "Tokenizer"}
STATUSES = {
    "Validation": 413, "Tokenizer": 422, "Backend": 424, "Overloaded": 429, "Unhealthy": 503,
}  # fmt: skip
TRUNCATES = {"truncate": "yes?", "truncation_direction": "text"}


@dataclass(frozen=True, kw_only=True)
class Address:
    """An address: the fields that a body must have, those that it may have, and the answer."""

    needs: dict[str, str]
    takes: dict[str, str]
    answers: str
    refuses: tuple[int, ...] = REFUSALS


ADDRESSES = {
    "/embed": Address(
        needs={"inputs": "text | [text]"},
        takes={"normalize": "yes", "prompt_name": "text?", **TRUNCATES},
        answers="[[number]]",
    ),
    "/embed_all": Address(
        needs={"inputs": "text | [text]"},
        takes={"prompt_name": "text?", **TRUNCATES},
        answers="[[[number]]]",
    ),
    "/embed_sparse": Address(
        needs={"inputs": "text | [text]"},
        takes={"prompt_name": "text?", **TRUNCATES},
        answers="[[{index: whole, value: number}]]",
    ),
    "/similarity": Address(
        needs={"inputs": "{sentences: [text], source_sentence: text}"},
        takes={"parameters": "object?"},
        answers="[number]",
    ),
    "/rerank": Address(
        needs={"query": "text", "texts": "[text]"},
        takes={"raw_scores": "yes", "return_text": "yes", **TRUNCATES},
        answers="[{index: whole, score: number, text: text?}]",
    ),
    "/predict": Address(
        needs={"inputs": "[text] | [[text]]"},  # and a text alone, where a classifier is served
        takes={"raw_scores": "yes", **TRUNCATES},
        answers="[[{label: text, score: number}]] | [{label: text, score: number}]",
    ),
    "/tokenize": Address(
        needs={"inputs": "text | [text]"},
        takes={"add_special_tokens": "yes", "prompt_name": "text?"},
        answers="[[{id: whole, special: yes, start: whole?, stop: whole?, text: text}]]",
        refuses=(422,),
    ),
    "/decode": Address(
        needs={"ids": "[[whole]] | [whole]"},
        takes={"skip_special_tokens": "yes"},
        answers="[text]",
        refuses=(422,),
    ),
}
INFO = {
    "model_id": "text",
    "model_dtype": "text",
    "model_type": "object",
    "max_concurrent_requests": "whole",
    "max_input_length": "whole",
    "max_batch_tokens": "whole",
    "max_client_batch_size": "whole",
    "auto_truncate": "yes",
    "tokenization_workers": "whole",
    "version": "text",
}
"""What `/info` must hold; the type of a model is an object with one of `MODEL_TYPES`."""
MODEL_TYPES = {"classifier": {"id2label", "label2id"}, "embedding": {"pooling"}}
MODEL_TYPES["reranker"] = MODEL_TYPES["classifier"]
NOT_TAKEN = {"prompt_name": "models here have no prompts", "truncate": "of classifiers and pairs"}
"""Inputs that are numbers of tokens are not taken either: models here read texts."""
