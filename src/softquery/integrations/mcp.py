"""An MCP server: models and indexes as tools of assistants, over standard input and output.

A tool is offered where a model or an index is there that can do it. Models are opened when they are
first asked, so that the server is there at once.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from softquery import __version__
from softquery.answers.label_names import label_names
from softquery.errors import ConfigError, MissingExtra, SoftqueryError
from softquery.integrations.given_models import open_index
from softquery.runtime import load
from softquery.runtime.loading import opened
from softquery.search import is_index
from softquery.zoo import entries

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError:
    raise MissingExtra("mcp", needed_for="softquery mcp") from None

USUAL = ("match-en", "nli-en", "match-zh", "sentiment-en", "read-en")
"""What is offered where no model is named, as far as it is installed; the first of a kind leads."""
INSTRUCTIONS = (
    "Small models that run on this machine: whether two texts mean the same, which texts answer a "
    "query, what a text is, and answers from an index of questions. Scores are probabilities."
)


class _Named:
    """Models, or indexes, by name; each is opened once, when it is first asked for."""

    def __init__(self, noun: str, openers: Mapping[str, Callable[[], Any]]) -> None:
        self.noun, self.openers = noun, openers
        self._opened: dict[str, Any] = {}

    @property
    def names(self) -> str:
        """All names, for the description of a tool; the first is the default."""
        return ", ".join(self.openers)

    def get(self, name: str | None) -> Any:
        """The one of a name, or the first."""
        name = next(iter(self.openers)) if name is None else name
        if name not in self.openers:
            raise ConfigError(f"no {self.noun} {name!r:.60} here (known: {self.names})")
        if name not in self._opened:
            self._opened[name] = self.openers[name]()
        return self._opened[name]


def build_server(
    models: Sequence[str] = (), indexes: Sequence[str] = (), *, threads: int | None = None
) -> MCPServer:
    """A server with a tool for everything that the models and indexes can do.

    Args:
        models: Names or folders; those of `USUAL` that are installed where none is named, unless an
            index is.
        indexes: Folders of indexes.
        threads: Threads of one call; None for all cores.

    Raises:
        SoftqueryError: A model or an index is not there, or nothing here can use it.
    """
    if not models and not indexes:
        there = {entry.name for entry in entries()}
        models = [name for name in USUAL if name in there]
    server = MCPServer(
        "softquery", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    by_kind: dict[str, dict[str, Callable[[], Any]]] = {}
    for each in models:
        kind = str(opened(each).config.kind)
        if kind not in TOOLS:
            raise ConfigError(f"{each}: no tool for a model of kind {kind!r}")
        by_kind.setdefault(kind, {})[Path(each).name] = _opener(load, each, threads)
    for each in indexes:
        if not is_index(Path(each)):
            raise ConfigError(f"{each}: is no index")
        by_kind.setdefault("index", {})[Path(each).stem] = _opener(open_index, each, threads)
    for kind, openers in by_kind.items():
        named = _Named("index" if kind == "index" else "model", openers)
        for tool in TOOLS[kind](named):
            description = f"{tool.__doc__} {named.noun.capitalize()}: {named.names}."
            server.add_tool(_told(tool), name=tool.__name__, description=description)
    return server


def run_server(
    models: Sequence[str] = (), indexes: Sequence[str] = (), *, threads: int | None = None
) -> None:
    """Serve over standard input and output until the client ends; see `build_server`."""
    build_server(models, indexes, threads=threads).run("stdio")


def _opener(open_it: Callable[..., Any], given: str, threads: int | None) -> Callable[[], Any]:
    return lambda: open_it(given, threads=threads)


def _told(tool: Callable[..., Any]) -> Callable[..., Any]:
    """A tool whose mistakes of the user reach the assistant in their own words."""

    @wraps(tool)
    def told(*given: Any, **named: Any) -> Any:
        try:
            return tool(*given, **named)
        except (SoftqueryError, ValueError, TypeError) as error:
            raise ToolError(str(error)) from None

    return told


def _with_meaning(model: Any, record: dict[str, Any]) -> dict[str, Any]:
    """An answer with its label in words, since a label may be a number."""
    label = record["label"]
    names = label_names(model.bundle.config.task, model.labels)
    return {**record, "meaning": names.get(label, {}).get("en", label)}


def _match_tools(models: _Named) -> list[Callable[..., Any]]:
    def match(first: str, second: str, model: str | None = None) -> dict[str, Any]:
        """What two texts are to each other: whether they mean the same, or one follows."""
        matcher = models.get(model)
        (answer,) = matcher.predict([(first, second)])
        return _with_meaning(matcher, answer.record(first, second))

    def rank(
        query: str, documents: list[str], top_k: int = 5, model: str | None = None
    ) -> list[dict[str, Any]]:
        """Order texts by how well they match a query, best first."""
        return list(models.get(model).rank(query, documents, top_k=top_k))

    return [match, rank]


def _classify_tools(models: _Named) -> list[Callable[..., Any]]:
    def classify(texts: list[str], model: str | None = None) -> list[dict[str, Any]]:
        """What each text is: its label, with the probability of every label."""
        classifier = models.get(model)
        answers = zip(classifier.predict(texts), texts, strict=True)
        return [_with_meaning(classifier, answer.record(text)) for answer, text in answers]

    return [classify]


def _read_tools(models: _Named) -> list[Callable[..., Any]]:
    def read(question: str, context: str, model: str | None = None) -> dict[str, Any]:
        """The words of a context that answer a question, or null where it has no answer."""
        return dict(models.get(model).predict([(question, context)])[0].record(question, context))

    return [read]


def _search_tools(indexes: _Named) -> list[Callable[..., Any]]:
    def search(query: str, top_k: int = 5, index: str | None = None) -> dict[str, Any]:
        """Rows of an index that answer a query; where none is good enough, the nearest ones."""
        found = indexes.get(index).find(query, top_k=top_k)
        return {"hits": found.hits, "nearest": found.nearest, "note": found.note}

    return [search]


TOOLS: Mapping[str, Callable[[_Named], list[Callable[..., Any]]]] = {
    "matcher": _match_tools,
    "classifier": _classify_tools,
    "reader": _read_tools,
    "index": _search_tools,
}
"""The tools of each kind of model, and of indexes."""
