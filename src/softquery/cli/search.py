"""`softquery search`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softquery.cli.terminal.console import note, print_json, print_table
from softquery.cli.terminal.shared_options import AllThreads, AsJson, TopK
from softquery.errors import ConfigError, InputError
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.search import IndexView, SearchResult

SHOWN = 80
"""Characters of a question that was found by another text."""
IndexPlace = Annotated[
    str,
    typer.Argument(
        help="The index: a folder, several ('shards/*.sq'), or a database (postgresql://…#NAME)."
    ),
]
SearchAim = Annotated[
    str | None,
    typer.Option(
        help="What the threshold is for: precision=P or coverage=C; by default the index's own."
    ),
]
Conditions = Annotated[
    list[str] | None,
    typer.Option(
        help='Only rows with column=value, or < <= > >= !=: "price<20", "date>=2026-01-31". '
        "Repeatable."
    ),
]


def search(
    index: IndexPlace,
    query: Annotated[str, typer.Argument(help="What is asked.")],
    top_k: TopK = 5,
    where: Conditions = None,
    min_score: Annotated[
        float | None, typer.Option(help="Hits below this score are no answer.")
    ] = None,
    aim: SearchAim = None,
    candidates: Annotated[
        int, typer.Option(min=1, help="How many rows are compared with the query.")
    ] = 50,
    stages: Annotated[
        str | None,
        typer.Option(
            help="Some of words,vectors,rerank; all by default. In an index without learned "
            "scores, those without rerank are recall's, with no threshold but --min-score."
        ),
    ] = None,
    explain: Annotated[
        Path | None, typer.Option(help="Say why the best one won: .html .svg .png .json.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Where the index's matcher lies now, if it was moved.")
    ] = None,
    threads: AllThreads = None,
    as_json: AsJson = False,
) -> None:
    """Find the stored questions that ask the same, with their answers."""
    from softquery.explain.write import require_place
    from softquery.search import open_index
    from softquery.search.query.filters import parse_conditions
    from softquery.search.query.stages import parse_stages

    if not query.strip():
        raise ConfigError("query is empty")
    if explain is not None:
        require_place(explain)
    used = None if stages is None else parse_stages(stages)
    opened = open_index(index, model=model, threads=threads)
    if opened.manifest.unfinished:
        note(f"{index}: indexing was interrupted; give the same command again to go on")
    found = opened.find(
        query,
        top_k=top_k,
        where=parse_conditions(where or []),
        min_score=min_score,
        candidates=candidates,
        stages=used,
        aim=aim,
    )
    if explain is not None:
        _explain(opened, found, explain)
    if as_json:
        print_json(
            {
                "query": query,
                "stages": list(found.stages),
                "hits": found.hits,
                "nearest": found.nearest,
                "note": found.note,
            }
        )
    else:
        _show(found)


def _explain(opened: "IndexView", found: "SearchResult", path: Path) -> None:
    """Draw why the best row was found."""
    from softquery.search.query.retrieval import found_by

    best = (found.hits or found.others)[:1]
    if not best:
        raise InputError("holds nothing to explain: no row was found", source=opened.path)
    matcher = opened.matcher_for(found.query)
    label = matcher.labels[matcher.column()] if matcher.labels else None
    matcher.explain(found.query, found_by(best[0]), label=label).plot(path)
    note(f"why: {path}")


def _show(found: "SearchResult") -> None:
    from softquery.search.query.stages import STAGES, shown_stages

    if found.note:
        note(found.note)
    if found.stages != STAGES:
        note(f"by {shown_stages(found.stages)}; the score is {found.score}")
    if found.hits:
        table = [(hit["score"], _asked(hit), hit["answer"]) for hit in found.hits]
        print_table(found.query, ("score", "question", "answer"), table)
        return
    nearest = [(hit["score"], _asked(hit)) for hit in found.nearest]
    title = localised("no good answer; nearest:" if nearest else "no good answer")
    print_table(title, ("score", "nearest question"), nearest)


def _asked(hit: Mapping[str, Any]) -> str:
    """The question of a hit, and what it was found by if that is another text."""
    found, question = hit.get("matched"), str(hit["question"])
    if found is None:
        return question
    if len(question) > SHOWN:
        question = f"{question[:SHOWN].rstrip()} …"
    return f"{question}\n{found['column']}: {found['text']}"
