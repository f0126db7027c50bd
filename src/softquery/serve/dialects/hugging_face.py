"""Hugging Face's tasks: `POST /` and `/models/NAME` go by the body, `/pipeline/TASK` by its name.

Its Python client sends every task to the one address that it was given, as
`{"inputs": …, "parameters": {…}}`; only `feature_extraction` sends no `parameters`. That, the form
of `inputs` and the names of the parameters are all that tells tasks apart.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path
from pydantic import ValidationError
from starlette.responses import Response

from softquery.answers import Answer, Tagged
from softquery.runtime import GenerateRequest
from softquery.serve.bodies import RequestBody, as_list, refusals
from softquery.serve.catalogue import Verb
from softquery.serve.dialects.hugging_face_bodies import (
    GENERATED,
    PARAMETERS,
    TEXT_TASKS,
    AnyAnswer,
    AnyBody,
    ClassifyTask,
    Elements,
    GeneratedText,
    GenerateTask,
    ReadAnswer,
    ReadTask,
    TagParameters,
    TagTask,
    TextBody,
)
from softquery.serve.dialects.tei import (
    EmbedBody,
    Prediction,
    PredictTextBody,
    RerankBody,
    SimilarityBody,
    Tei,
    Vectors,
    labels_with_scores,
)
from softquery.serve.faults import Dialect, Fault, FaultKind, validation
from softquery.serve.handlers import GenerationRequest, num_characters
from softquery.serve.json_responses import Json
from softquery.serve.service import Service

Body = TypeVar("Body", bound=RequestBody)
TextAnswer = tuple[Verb, str | None]
"""What can be done with a text alone, and the name of the model that does it."""


class Tasks:
    """Answers requests of this dialect.

    Args:
        service: Answers requests of all dialects.
    """

    def __init__(self, service: Service) -> None:
        self.service, self.tei = service, Tei(service)

    async def classify(self, body: ClassifyTask) -> Json:
        """For each text its labels with their probabilities, likeliest first."""
        top = None if body.parameters is None else body.parameters.top_k
        served, answers = await self.service.predict("classify", body.model, as_list(body.inputs))
        return Json([labels_with_scores(served, each)[:top] for each in answers])

    async def tag(self, body: TagTask) -> Json:
        """The spans of a text, or its words if the tags stand for none; a list for each text."""
        _, answers = await self.service.predict("tag", body.model, as_list(body.inputs))

        def content() -> Any:
            found = [tag_elements(each, body.parameters or TagParameters()) for each in answers]
            return found[0] if isinstance(body.inputs, str) else found

        return Json(content, size=num_characters(body.inputs))

    async def read(self, body: ReadTask) -> Json:
        """The answer to a question, as a span of its context."""
        asked = (body.inputs.question, body.inputs.context)
        _, (answer,) = await self.service.predict("read", body.model, [asked])
        return Json(_read_answer(answer))

    async def generate(self, body: GenerateTask, names: Sequence[str]) -> Json:
        """One generated text for each text, under the names that clients look for."""
        request = GenerationRequest(as_list(body.inputs), GenerateRequest())
        _, generated = await self.service.generate(body.model, request)
        return Json([dict.fromkeys(names, answers[0].text) for answers in generated])

    async def any(self, body: AnyBody) -> Response:
        """What the body asks for, from the first model that can answer it."""
        if isinstance(body, TextBody):
            return await self._text(body)
        if isinstance(body, SimilarityBody):
            return await self.tei.similarity(body)
        if isinstance(body, ReadTask):
            return await self.read(body)
        if isinstance(body, RerankBody):
            return await self.tei.rerank(body)
        return await self.tei.predict_any(body)

    async def by_name(self, name: str, body: AnyBody) -> Response:
        """What the body asks for, from the model of that name."""
        self.service.catalogue.named(name)
        return await self.any(body.model_copy(update={"model": name}))

    def meant(self, body: TextBody) -> TextAnswer:
        """What is to be done with a text alone, and by which model.

        Without `parameters` it is a vector, if a model gives one. With them, it is what the first
        model does that classifies, tags or generates, and takes these parameters.

        Raises:
            Fault: No model does any of these, or none takes the parameters.
        """
        able, given = self._able(body), set(body.parameters or ())
        fitting = [each for each in able if given <= PARAMETERS[each[0]]]
        if not fitting and len(able) > 1:
            known = ", ".join(sorted({name for verb, _ in able for name in PARAMETERS[verb]}))
            raise Fault(FaultKind.VALIDATION, f"parameters: no model takes these (known: {known})")
        return (fitting or able)[0]

    def _able(self, body: TextBody) -> list[TextAnswer]:
        """All that the named model, or any model, can do with a text alone, in order."""
        named = self.service.catalogue.named(body.model)
        found: list[TextAnswer] = [
            (verb, each.name) for each in named for verb in TEXT_TASKS if verb in each.handlers
        ]
        if any("embed" in each.handlers for each in named):
            place = 0 if body.parameters is None else len(found)
            found.insert(place, ("embed", body.model))
        if not found:
            verbs = ", ".join(dict.fromkeys(verb for each in named for verb in each.handlers))
            subject = body.model or "this server"
            raise Fault(FaultKind.NOT_FOUND, f"{subject} takes no text alone (it can: {verbs})")
        return found

    async def _text(self, body: TextBody) -> Response:
        verb, model = self.meant(body)
        given = body.parameters or {}
        if verb == "embed":
            fields = body.model_dump(exclude_unset=True, exclude={"parameters"})
            return await self.tei.embed(_parsed(EmbedBody, {**fields, **given}))
        if verb == "classify" and body.parameters is None:
            return await self.tei.predict_text(_as_predicted(body, model))
        fields = {"inputs": body.inputs, "parameters": given, "model": model}
        task = _parsed(TEXT_TASKS[verb], fields)
        if isinstance(task, ClassifyTask):
            return await self.classify(task)
        if isinstance(task, TagTask):
            return await self.tag(task)
        return await self.generate(task, list(GENERATED.values()))


def _parsed(kind: type[Body], fields: Mapping[str, Any]) -> Body:
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise validation(error.errors()) from None


def _as_predicted(body: TextBody, model: str | None) -> PredictTextBody:
    """The body as TEI's `/predict` takes it: several texts are a list of lists."""
    texts = as_list(body.inputs)
    inputs = body.inputs if len(texts) == 1 else [[text] for text in texts]
    fields = {"inputs": inputs, "truncate": body.truncate, "model": model}
    return _parsed(PredictTextBody, fields)


def tag_elements(answer: Tagged, parameters: TagParameters) -> list[dict[str, Any]]:
    """The spans of a tagged text, or its words: each with its tag and its place in the text."""
    text, places = answer.source or "", _places(answer)
    singly = parameters.aggregation_strategy == "none"
    if singly or not answer.spans:
        parts = [(tag, *place) for tag, place in zip(answer.tags, places, strict=True)]
    else:
        parts = [
            (span.label, places[span.start][0], places[span.end - 1][1]) for span in answer.spans
        ]
    ignored = ["O"] if parameters.ignore_labels is None else parameters.ignore_labels
    name = "entity" if singly else "entity_group"
    return [
        {name: tag, "score": None, "word": text[start:end], "start": start, "end": end}
        for tag, start, end in parts
        if tag not in ignored
    ]


def _places(answer: Tagged) -> list[tuple[int, int]]:
    """Where each token stands in the text, whose slices the tokens are."""
    found, end = [], 0
    for token in answer.tokens:
        start = (answer.source or "").index(token, end)
        end = start + len(token)
        found.append((start, end))
    return found


def _read_answer(answer: Answer) -> dict[str, Any]:
    return {
        "answer": answer.text or "",
        "score": answer.score,
        "start": answer.start or 0,
        "end": answer.end or 0,
    }


def hugging_face_routes(service: Service) -> APIRouter:
    """The addresses of Hugging Face's client, as far as the served models can answer them."""
    router, tasks = APIRouter(tags=["Hugging Face"]), Tasks(service)
    common: dict[str, Any] = {"methods": ["POST"], "responses": refusals(Dialect.TEI)}
    names = [each.name for each in service.catalogue.models]
    if not names:
        return router

    async def by_name(
        name: Annotated[str, Path(json_schema_extra={"enum": list(names)})], body: AnyBody
    ) -> Response:
        """What the body asks for, from the model of that name."""
        return await tasks.by_name(name, body)

    router.add_api_route("/", tasks.any, response_model=AnyAnswer, **common)
    router.add_api_route("/models/{name}", by_name, response_model=AnyAnswer, **common)
    routes: list[tuple[str, Verb, Callable[..., Awaitable[Response]], Any]] = [
        ("feature-extraction", "embed", tasks.tei.embed, Vectors),
        ("sentence-similarity", "embed", tasks.tei.similarity, list[float]),
        ("text-classification", "classify", tasks.classify, list[list[Prediction]]),
        ("token-classification", "tag", tasks.tag, Elements),
        ("question-answering", "read", tasks.read, ReadAnswer),
    ]
    for task, name in GENERATED.items():
        routes.append((task, "generate", _generating(tasks, name), list[GeneratedText]))
    for task, verb, answer, model in routes:
        if service.catalogue.able(verb):
            router.add_api_route(f"/pipeline/{task}", answer, response_model=model, **common)
    return router


def _generating(tasks: Tasks, name: str) -> Callable[[GenerateTask], Awaitable[Json]]:
    async def generate(body: GenerateTask) -> Json:
        """One generated text for each text."""
        return await tasks.generate(body, [name])

    return generate
