"""What a server offers: models and indexes by name, and the verbs that each of them can do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from softquery import search
from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime import ContextEmbedder, Matcher, PieceEmbedder, load
from softquery.runtime.bert.backend import is_bert
from softquery.runtime.fill.model import can_fill
from softquery.runtime.loading import opened
from softquery.runtime.match.backend import is_pair_head
from softquery.runtime.vectors.model import vectors_of
from softquery.runtime.vectors.text_vectors import WordVectorAverages, own_vectors
from softquery.search.any_index import manifest_at
from softquery.serve.faults import Fault, FaultKind
from softquery.serve.handlers import (
    ContextVectorHandler,
    ExplainHandler,
    GenerateHandler,
    MatcherVectorHandler,
    MatchHandler,
    SentenceVectorHandler,
    WordVectorHandler,
)
from softquery.serve.prediction_handlers import (
    FillHandler,
    PredictHandler,
    ReadHandler,
    TagHandler,
    WeighHandler,
)
from softquery.serve.queued_request import BatchHandler
from softquery.serve.search_handler import SearchableIndex, SearchHandler
from softquery.serve.settings import Settings
from softquery.zoo import resolve

Verb = Literal[
    "match", "explain", "embed", "classify", "weigh", "tag", "read", "fill", "generate", "search"
]  # fmt: skip


def _load_for_one_thread(bundle: Bundle) -> Any:
    """Open a bundle; parallelism comes from the engine's threads alone."""
    return load(bundle, threads=1)


def _open_word_averages(bundle: Bundle) -> WordVectorAverages:
    return WordVectorAverages(vectors_of(bundle), bundle)


def _matcher_verbs(matcher: Matcher) -> tuple[Verb, ...]:
    """What a matcher can do, which depends on its model."""
    if is_bert(matcher.bundle):  # reads both texts as one, and has no vector of either
        return ("match",)
    if is_pair_head(matcher.bundle):  # has the vectors of an encoder that is served by itself
        return ("match", "explain")
    if own_vectors(matcher).pooling == "own":  # compares vectors, and aligns no words
        return ("match", "embed")
    return ("match", "embed", "explain")


def _encoder_verbs(embedder: PieceEmbedder) -> tuple[Verb, ...]:
    """What an encoder can do: masks need the head of its pretraining."""
    return ("embed", "fill") if can_fill(embedder.bundle) else ("embed",)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedKind:
    """How bundles of one kind are served."""

    handlers: Mapping[Verb, Callable[[str, Any], BatchHandler]]
    """The class that computes each verb."""
    open: Callable[[Bundle], Any] = _load_for_one_thread
    verbs_of: Callable[[Any], Sequence[Verb]] | None = None
    """The verbs that a particular model can do; None if all of the kind can do the same."""


SERVED_KINDS: Mapping[str, ServedKind] = {
    "matcher": ServedKind(
        handlers={
            "match": MatchHandler,
            "embed": MatcherVectorHandler,
            "explain": ExplainHandler,
        },
        verbs_of=_matcher_verbs,
    ),
    "classifier": ServedKind(handlers={"classify": PredictHandler, "weigh": WeighHandler}),
    "tagger": ServedKind(handlers={"tag": TagHandler}),
    "reader": ServedKind(handlers={"read": ReadHandler}),
    "generator": ServedKind(handlers={"generate": GenerateHandler}),
    "sentence-encoder": ServedKind(handlers={"embed": SentenceVectorHandler}),
    "embedder": ServedKind(handlers={"embed": ContextVectorHandler}),
    "encoder": ServedKind(
        handlers={"embed": ContextVectorHandler, "fill": FillHandler}, verbs_of=_encoder_verbs
    ),
    "vectors": ServedKind(handlers={"embed": WordVectorHandler}, open=_open_word_averages),
}
"""Every kind of bundle that a server can open."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedModel:
    """A model or an index under the name that requests give, with a handler for each verb."""

    name: str
    kind: str
    model: Any
    """The opened model, or the index."""
    handlers: Mapping[Verb, BatchHandler]

    @property
    def vector_size(self) -> int:
        """The width of its vectors of texts; 0 if it gives none."""
        return int(getattr(self.handlers.get("embed"), "vector_size", 0))

    @property
    def has_prefixes(self) -> bool:
        """Whether its vectors may be cut."""
        return bool(getattr(self.handlers.get("embed"), "has_prefixes", False))

    def gives(self, size: int) -> bool:
        """Whether its vectors have this width, or may be cut to it."""
        return size == self.vector_size or (self.has_prefixes and size < self.vector_size)

    @property
    def pooling(self) -> str:
        """How its vectors of texts come about; empty if it gives none."""
        return str(getattr(self.handlers.get("embed"), "pooling", ""))

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of a text it reads; None if that is not known."""
        if isinstance(self.model, (ContextEmbedder, PieceEmbedder)):
            return self.model.max_tokens
        pipeline = getattr(self.model, "pipeline", None)
        return None if pipeline is None else int(pipeline.config.max_tokens)


@dataclass(slots=True)
class Catalogue:
    """All models and indexes of a server, in the order in which they were named.

    Indexes may be added while others read; models may not.
    """

    models: Sequence[ServedModel] = ()
    indexes: Sequence[ServedModel] = ()
    _by_name: dict[tuple[str, str], ServedModel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in (*self.models, *self.indexes):
            for verb in each.handlers:
                self._by_name[verb, each.name] = each

    def add(self, index: ServedModel) -> None:
        """Serve one more index."""
        self.indexes = (*self.indexes, index)
        for verb in index.handlers:
            self._by_name[verb, index.name] = index

    @property
    def names(self) -> list[str]:
        """The names of all models, then of all indexes."""
        return [each.name for each in (*self.models, *self.indexes)]

    def named(self, name: str | None) -> list[ServedModel]:
        """All models and indexes, or those of one name.

        Raises:
            Fault: There is none of that name.
        """
        found = [each for each in (*self.models, *self.indexes) if name in (None, each.name)]
        if not found:
            known = ", ".join(self.names)
            raise Fault(FaultKind.NOT_FOUND, f"nothing of that name is served (known: {known})")
        return found

    def able(self, verb: Verb) -> list[ServedModel]:
        """All that can do a verb, in order.

        For `embed`, sentence encoders come first, then other models that compare vectors.
        """
        found = [each for each in (*self.models, *self.indexes) if verb in each.handlers]
        if verb != "embed":
            return found
        return sorted(found, key=lambda each: (not each.has_prefixes, each.pooling != "own"))

    def find(self, verb: Verb, name: str | None) -> ServedModel:
        """The model that a request names, or the first that can do the verb.

        Raises:
            Fault: No model of that name can.
        """
        able = self.able(verb)
        if name is None and able:
            return able[0]
        found = self._by_name.get((verb, name or ""))
        if found is None:
            noun = "index" if verb == "search" else "model"
            if not able:
                message = f"no {noun} of this server can {verb}"
                raise Fault(FaultKind.NOT_FOUND, message, tei="Backend")
            known = ", ".join(each.name for each in able)
            message = f"no {noun} of that name can {verb} (known: {known})"
            raise Fault(FaultKind.NOT_FOUND, message, tei="Backend" if name in self.names else None)
        return found

    def find_vectors(self, name: str | None, size: int | None) -> ServedModel:
        """The model that a request for vectors names, or the first with vectors of that size.

        Where none has it, a sentence encoder's vectors are cut to it.
        """
        if size is None:
            return self.find("embed", name)
        able = self.able("embed")
        fitting = [each for each in able if name in (None, each.name) and each.gives(size)]
        if fitting:
            return min(fitting, key=lambda each: each.vector_size != size)
        known = ", ".join(
            f"{each.name} {'up to ' * each.has_prefixes}{each.vector_size}" for each in able
        )
        raise Fault(
            FaultKind.NOT_FOUND, f"no such model gives vectors of that size (known: {known})"
        )


def open_catalogue(settings: Settings) -> Catalogue:
    """Open everything that the settings name; each folder once."""
    models = _open_each(settings.named_models(), resolve, open_model)
    matchers = [each.model for each in models if isinstance(each.model, Matcher)]
    indexes = _open_each(settings.named_indexes(), str, partial(open_index, matchers=matchers))
    return Catalogue(models, indexes)


def _open_each(
    named: Mapping[str, str], place: Callable[[str], Any], opened: Callable[[str, str], ServedModel]
) -> list[ServedModel]:
    """Open what is named; a second name for the same folder shares its handlers, so its batches."""
    seen: dict[str, ServedModel] = {}
    found: list[ServedModel] = []
    for name, source in named.items():
        key = str(place(source))
        if key not in seen:
            seen[key] = opened(name, source)
        found.append(replace(seen[key], name=name))
    return found


def open_model(name: str, source: str) -> ServedModel:
    """Open a bundle by its name in the zoo or by its folder."""
    bundle = opened(source)
    return served_model(name, _served_kind(bundle).open(bundle))


def served_model(name: str, model: Any) -> ServedModel:
    """An opened model with a handler for each of its verbs."""
    kind = _served_kind(model.bundle)
    verbs = tuple(kind.handlers) if kind.verbs_of is None else kind.verbs_of(model)
    handlers = {verb: kind.handlers[verb](name, model) for verb in verbs}
    return ServedModel(
        name=name, kind=str(model.bundle.config.kind), model=model, handlers=handlers
    )


def _served_kind(bundle: Bundle) -> ServedKind:
    kind = str(bundle.config.kind)
    if kind not in SERVED_KINDS:
        known = ", ".join(SERVED_KINDS)
        raise BundleError(
            f"{bundle.path}: a bundle of kind {kind!r} cannot be served (known: {known})"
        )
    return SERVED_KINDS[kind]


def open_index(name: str, source: str, *, matchers: list[Matcher]) -> ServedModel:
    """Open an index that `softquery index` built.

    Args:
        name: The name that requests give.
        source: The folder, several of them as a pattern, or a database.
        matchers: The matchers that are open already. If the index opens one, it is appended, so
            that models and indexes share it.
    """
    place = resolve(manifest_at(source).model)
    there = [each for each in matchers if each.bundle.path == place]
    index = search.open_index(source, model=there[0] if there else None, threads=1)
    if not there:
        matchers.append(index.matcher)
    return served_index(name, index)


def served_index(name: str, index: SearchableIndex) -> ServedModel:
    """An opened index with the handler that searches it."""
    handlers: dict[Verb, BatchHandler] = {"search": SearchHandler(name, index)}
    return ServedModel(name=name, kind="index", model=index, handlers=handlers)
