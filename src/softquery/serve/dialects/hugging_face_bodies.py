"""What Hugging Face's tasks take and answer, and how the form of a body tells them apart.

Parameters that a task does not know are refused, since each of them would change the answer.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag

from softquery.serve.bodies import Count, Model, RequestBody, ResponseBody, TextOrTexts
from softquery.serve.catalogue import Verb
from softquery.serve.dialects.own import QuestionBody
from softquery.serve.dialects.tei import (
    EmbedBody,
    Pairs,
    PredictBody,
    Predictions,
    PredictTextBody,
    Rank,
    RerankBody,
    SimilarityBody,
    Singles,
    Vectors,
)


class TaskParameters(RequestBody):
    """The parameters of a task; those that it does not know are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class ClassifyParameters(TaskParameters):
    """How many labels to return; scores are probabilities."""

    top_k: Count | None = None
    function_to_apply: Literal["softmax"] | None = None


class TagParameters(TaskParameters):
    """Whether words are answered one by one, and which tags are left out."""

    aggregation_strategy: Literal["none", "simple", "first", "average", "max"] | None = None
    ignore_labels: list[str] | None = None


class ReadParameters(TaskParameters):
    """What is true of every answer: it is one, it may be empty, and it consists of words."""

    top_k: Literal[1] | None = None
    handle_impossible_answer: Literal[True] | None = None
    align_to_words: Literal[True] | None = None


class GenerateParameters(TaskParameters):
    """What is true of every generated text: the likeliest one, detokenised, without its source."""

    clean_up_tokenization_spaces: Literal[True] | None = None
    do_sample: Literal[False] | None = None
    return_full_text: Literal[False] | None = None


class ClassifyTask(RequestBody):
    """A text, or texts, to be classified."""

    inputs: TextOrTexts
    parameters: ClassifyParameters | None = None
    model: Model = None


class TagTask(RequestBody):
    """A text, or texts, whose words are to be tagged."""

    inputs: TextOrTexts
    parameters: TagParameters | None = None
    model: Model = None


class GenerateTask(RequestBody):
    """A text, or texts, to generate from."""

    inputs: TextOrTexts
    parameters: GenerateParameters | None = None
    stream: Literal[False] | None = None
    model: Model = None


class ReadTask(RequestBody):
    """A question to be answered from its context."""

    inputs: QuestionBody
    parameters: ReadParameters | None = None
    model: Model = None


class TextBody(EmbedBody):
    """A text, or texts, for vectors, labels, tags or generated texts."""

    parameters: Annotated[
        dict[str, Any] | None, Field(description="Those of the task; none for vectors.")
    ] = None
    stream: Literal[False] | None = None


class PairsBody(PredictBody):
    """Pairs to be classified by a matcher."""

    inputs: Pairs


class SinglesBody(PredictTextBody):
    """Texts to be classified by a classifier, as TEI sends several."""

    inputs: Singles


def _form(body: Any) -> str:
    """Which of `AnyBody` is meant, so that a refusal speaks of that one only."""
    given = body if isinstance(body, dict) else {}
    inputs = given.get("inputs")
    if "query" in given and "inputs" not in given:
        return "Rerank"
    if isinstance(inputs, dict):
        return "Read" if {"question", "context"} & set(inputs) else "Similarity"
    if isinstance(inputs, list) and inputs and isinstance(inputs[0], list):
        return "Singles" if len(inputs[0]) == 1 else "Pairs"
    return "Text"


def _any_of(schema: dict[str, Any]) -> None:
    """Describe the forms as pydantic describes other unions: a body may fit more than one."""
    schema["anyOf"] = schema.pop("oneOf")


AnyBody = Annotated[
    Annotated[TextBody, Tag("Text")]
    | Annotated[SimilarityBody, Tag("Similarity")]
    | Annotated[ReadTask, Tag("Read")]
    | Annotated[PairsBody, Tag("Pairs")]
    | Annotated[SinglesBody, Tag("Singles")]
    | Annotated[RerankBody, Tag("Rerank")],
    Discriminator(_form),
    Field(json_schema_extra=_any_of),
]


class TagElement(ResponseBody):
    """A word or a span of words, and where it stands in the text; taggers give no scores."""

    entity_group: str | None = None
    entity: str | None = None
    score: float | None
    word: str
    start: int
    end: int


class ReadAnswer(ResponseBody):
    """A span of the context; empty if there is no answer."""

    answer: str
    score: float
    start: int
    end: int


class GeneratedText(ResponseBody):
    """A generated text, under the name that the task gives it."""

    generated_text: str | None = None
    summary_text: str | None = None
    translation_text: str | None = None


GENERATED: Mapping[str, str] = {
    "text-generation": "generated_text",
    "summarization": "summary_text",
    "translation": "translation_text",
}
"""Tasks of generators, and what each calls its text."""
TEXT_TASKS: Mapping[Verb, type[ClassifyTask | TagTask | GenerateTask]] = {
    "classify": ClassifyTask,
    "tag": TagTask,
    "generate": GenerateTask,
}
"""What can be done with a text alone, besides giving its vector."""
PARAMETERS: Mapping[Verb, frozenset[str]] = {
    "classify": frozenset(ClassifyParameters.model_fields),
    "tag": frozenset(TagParameters.model_fields),
    "generate": frozenset(GenerateParameters.model_fields),
    "embed": frozenset(EmbedBody.model_fields) - {"inputs", "model"},
}
"""The parameters that each of these takes; earlier clients sent those of vectors there, too."""
Elements = list[TagElement] | list[list[TagElement]]
AnyAnswer = (
    Vectors | list[float] | list[Rank] | Predictions | Elements | ReadAnswer | list[GeneratedText]
)
