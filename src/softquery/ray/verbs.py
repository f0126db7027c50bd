"""The bulk verbs by their names, over data sets of Ray: `softquery.ray.match(dataset, …)`."""

from typing import Any

from softquery.ray.bulk_work import ModelChoice
from softquery.ray.cluster import Actors
from softquery.ray.data_sets import Columns, OnError, answered
from softquery.runtime.fill.model import FillRequest
from softquery.runtime.generate.request import GenerateRequest

Model = ModelChoice | str
Team = Actors | int | None


def match(
    dataset: Any,
    model: Model = "match-en",
    *,
    columns: Columns = None,
    on_error: OnError = "stop",
    actors: Team = None,
) -> Any:
    """What the two sentences of each row are to each other: `label`, `score`, `probabilities`.

    Nothing is computed before the data set is read, or written.

    Args:
        dataset: Of Ray Data, with `sentence1` and `sentence2`; other columns stay.
        model: A name that every machine knows, or a folder that every machine sees; a
            `ModelChoice` also says with which backend.
        columns: Our column names to the data set's.
        on_error: `stop` at a bad row, or `mark` it: its answer is empty, and `error` says why.
        actors: Who answers, or how many of them; by default one per CPU but one.
    """
    return answered(dataset, "matcher", model, columns=columns, on_error=on_error, actors=actors)


def classify(
    dataset: Any,
    model: Model = "sentiment-en",
    *,
    columns: Columns = None,
    on_error: OnError = "stop",
    actors: Team = None,
) -> Any:
    """What the `text` of each row is; the arguments are those of `match`."""
    return answered(dataset, "classifier", model, columns=columns, on_error=on_error, actors=actors)


def tag(
    dataset: Any,
    model: Model = "tagger-en",
    *,
    columns: Columns = None,
    on_error: OnError = "stop",
    actors: Team = None,
) -> Any:
    """`tags` and `spans` of each row's `text` or `tokens`; the arguments are those of `match`."""
    return answered(dataset, "tagger", model, columns=columns, on_error=on_error, actors=actors)


def read(
    dataset: Any,
    model: Model = "read-en",
    *,
    columns: Columns = None,
    on_error: OnError = "stop",
    actors: Team = None,
) -> Any:
    """The `answer` to each row's `question` in its `context`, with `start`, `end` and `score`."""
    return answered(dataset, "reader", model, columns=columns, on_error=on_error, actors=actors)


def generate(
    dataset: Any,
    model: Model = "translate-de-en",
    *,
    request: GenerateRequest | None = None,
    columns: Columns = None,
    on_error: OnError = "stop",
    actors: Team = None,
) -> Any:
    """A `text` from each row's `source`, with its `score`; by a beam of five unless requested."""
    asked = request or GenerateRequest()
    return answered(
        dataset, "generator", model, columns=columns, on_error=on_error, request=asked,
        actors=actors,
    )  # fmt: skip


def fill(
    dataset: Any,
    model: Model = "bert-mini-en",
    *,
    request: FillRequest | None = None,
    columns: Columns = None,
    on_error: OnError = "stop",
    actors: Team = None,
) -> Any:
    """Words for the `masks` of each row's `text`."""
    return answered(
        dataset, "encoder", model, columns=columns, on_error=on_error,
        request=request or FillRequest(), actors=actors,
    )  # fmt: skip
