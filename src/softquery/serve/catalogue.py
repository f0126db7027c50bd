"""What a server has: models by name and kind, indexes by name, and what each of them can do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from softquery.errors import BundleError
from softquery.runtime import ContextEmbedder, Matcher, PieceEmbedder, load
from softquery.runtime.bert.backends import is_bert
from softquery.runtime.load import opened
from softquery.runtime.vectors.model import vectors_of
from softquery.runtime.vectors.text_vectors import WordVectorAverages, own_vectors
from softquery.search import Index
from softquery.search.manifest import read_manifest
from softquery.serve.engine import BatchedSkill
from softquery.serve.faults import Fault, FaultKind
from softquery.serve.settings import Settings
from softquery.serve.skills import (
    EmbedderLane,
    ExplainLane,
    MatcherVectorLane,
    PairLane,
    Searches,
    SearchLane,
    TextLane,
    WordVectorLane,
    WriteLane,
    Writes,
)
from softquery.zoo import resolve

Skill = Literal["match", "explain", "embed", "classify", "tag", "read", "generate", "search"]


class Predicts(Protocol):
    """A classifier, a tagger, a reader or a generator: texts in, an answer for each out."""

    def predict(self, texts: Sequence[Any]) -> Sequence[Any]:
        """Answers in the order of the texts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A model or an index, and a lane for each of its skills."""

    name: str
    kind: str
    thing: Any
    lanes: Mapping[str, BatchedSkill]
    vector_size: int = 0
    pooling: str = ""

    @property
    def max_tokens(self) -> int | None:
        """How much of a text it reads; None where that is not known."""
        if isinstance(self.thing, (ContextEmbedder, PieceEmbedder)):
            return self.thing.max_tokens
        pipeline = getattr(self.thing, "pipeline", None)
        return None if pipeline is None else int(pipeline.config.max_tokens)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All that is served, in the order in which it was named."""

    models: Sequence[Served] = ()
    indexes: Sequence[Served] = ()
    _by_name: dict[tuple[str, str], Served] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in (*self.models, *self.indexes):
            for skill in each.lanes:
                self._by_name[skill, each.name] = each

    def able(self, skill: Skill) -> list[Served]:
        """Who can do something, in order; a model that compares vectors itself gives them first."""
        found = [each for each in (*self.models, *self.indexes) if skill in each.lanes]
        if skill != "embed":
            return found
        return sorted(found, key=lambda each: each.pooling != "own")

    def find(self, skill: Skill, name: str | None) -> Served:
        """The one that a request names, or the first that can do it.

        Raises:
            Fault: Nobody of that name can.
        """
        able = self.able(skill)
        if name is None and able:
            return able[0]
        found = self._by_name.get((skill, name or ""))
        if found is None:
            known = ", ".join(each.name for each in able) or "none"
            raise Fault(FaultKind.NOT_FOUND, f"nothing of that name can {skill} (known: {known})")
        return found

    def find_vectors(self, name: str | None, size: int | None) -> Served:
        """Likewise for vectors, of a given width where one is asked for."""
        if size is None:
            return self.find("embed", name)
        able = self.able("embed")
        for each in able:
            if name in (None, each.name) and each.vector_size == size:
                return each
        known = ", ".join(f"{each.name} {each.vector_size}" for each in able)
        raise Fault(
            FaultKind.NOT_FOUND, f"no such model gives vectors of that size (known: {known})"
        )


def open_catalogue(settings: Settings) -> Catalogue:
    """Open everything that a server is told to serve; each folder once."""
    models = _open_each(settings.named_models(), resolve, open_model)
    matchers = [each.thing for each in models if isinstance(each.thing, Matcher)]
    indexes = _open_each(settings.named_indexes(), str, partial(open_index, matchers=matchers))
    return Catalogue(models, indexes)


def _open_each(
    named: Mapping[str, str], place: Callable[[str], Any], opened: Callable[[str, str], Served]
) -> list[Served]:
    seen: dict[str, Served] = {}
    found: list[Served] = []
    for name, source in named.items():
        key = str(place(source))
        if key not in seen:
            seen[key] = opened(name, source)
        found.append(_renamed(seen[key], name))
    return found


def _renamed(served: Served, name: str) -> Served:
    """The same under another name; its lanes, and so its batches, are shared."""
    return Served(
        name=name,
        kind=served.kind,
        thing=served.thing,
        lanes=served.lanes,
        vector_size=served.vector_size,
        pooling=served.pooling,
    )


def open_model(name: str, source: str) -> Served:
    """Open a bundle; the engine's threads are the only ones."""
    bundle = opened(source)
    if bundle.config.kind == "vectors":
        return _served_words(name, WordVectorAverages(vectors_of(bundle), bundle))
    return served_model(name, load(bundle, threads=1))


def served_model(name: str, model: Any) -> Served:
    """A model of any kind with its lanes."""
    kind = str(model.bundle.config.kind)
    if isinstance(model, Matcher):
        return _served_matcher(name, model)
    if isinstance(model, (ContextEmbedder, PieceEmbedder)):
        return Served(
            name=name,
            kind=kind,
            thing=model,
            lanes={"embed": EmbedderLane(name, model)},
            vector_size=model.output_size,
            pooling="mean",
        )
    if kind == "generator":
        lane = WriteLane(name, cast(Writes, model))
        return Served(name=name, kind=kind, thing=model, lanes={"generate": lane})
    skill: dict[str, Skill] = {"classifier": "classify", "tagger": "tag", "reader": "read"}
    if kind not in skill:
        raise BundleError(f"{model.bundle.path}: a bundle of kind {kind!r} cannot be served")
    predict = cast(Predicts, model).predict
    return Served(name=name, kind=kind, thing=model, lanes={skill[kind]: TextLane(name, predict)})


def _served_words(name: str, vectors: WordVectorAverages) -> Served:
    return Served(
        name=name,
        kind="vectors",
        thing=vectors,
        lanes={"embed": WordVectorLane(name, vectors)},
        vector_size=vectors.size,
        pooling="mean",
    )


def _served_matcher(name: str, matcher: Matcher) -> Served:
    if is_bert(matcher.bundle):  # it reads both texts as one, and has no vector of either
        return Served(
            name=name, kind="matcher", thing=matcher, lanes={"match": PairLane(name, matcher)}
        )
    vectors = own_vectors(matcher)
    lanes: dict[str, BatchedSkill] = {
        "match": PairLane(name, matcher),
        "embed": MatcherVectorLane(name, matcher, vectors),
    }
    if vectors.pooling != "own":
        lanes["explain"] = ExplainLane(name, matcher)
    return Served(
        name=name,
        kind="matcher",
        thing=matcher,
        lanes=lanes,
        vector_size=vectors.size,
        pooling=vectors.pooling,
    )


def open_index(name: str, source: str, *, matchers: list[Matcher]) -> Served:
    """Open a folder that `softquery index` made.

    Args:
        name: What requests call it.
        source: The folder.
        matchers: Those that are open already; one that the index opens is put among them, so that
            models and indexes share it.
    """
    place = resolve(read_manifest(Path(source)).model)
    there = [each for each in matchers if each.bundle.path == place]
    index = Index.open(source, model=there[0] if there else None, threads=1)
    if not there:
        matchers.append(index.matcher)
    return served_index(name, index)


def served_index(name: str, index: Searches) -> Served:
    """An index with its lane."""
    return Served(name=name, kind="index", thing=index, lanes={"search": SearchLane(name, index)})


def skills(served: Iterable[Served]) -> set[str]:
    """All that some models can do."""
    return {skill for each in served for skill in each.lanes}
