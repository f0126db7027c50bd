"""`softquery embed`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.terminal.answer_file import tell_end
from softquery.cli.terminal.bad_rows import BadRows
from softquery.cli.terminal.console import note, print_json, print_table
from softquery.cli.terminal.progress import counting
from softquery.cli.terminal.shared_options import (
    AsJson,
    BackendName,
    Model,
    OnError,
    Threads,
    parse_rename,
    require_choice,
)
from softquery.errors import ConfigError, counted

if TYPE_CHECKING:
    from softquery.files import Sentence
    from softquery.runtime import ContextEmbedder, PieceEmbedder
    from softquery.runtime.embed.layer_choice import Choice

MEGABYTE = 1024 * 1024
SHOWN = 4
"""Numbers of a vector that a table shows."""


def embed(
    file: Annotated[
        Path | None,
        typer.Argument(help="One text per line (.txt), or a column `text` or `tokens` of a table."),
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option(help="A text in place of a file. Repeatable.")
    ] = None,
    model: Model = "elmo-en",
    output: Annotated[
        Path | None, typer.Option(help="One array per line: .npz or .parquet.")
    ] = None,
    layers: Annotated[
        str, typer.Option(help="all, mix, top, average, or the number of a layer.")
    ] = "all",
    precision: Annotated[
        str, typer.Option(help="Of the numbers that are written: float32 or float16.")
    ] = "float32",
    stateful: Annotated[
        bool, typer.Option("--stateful", help="Let the state run on from line to line.")
    ] = False,
    columns: Annotated[
        str, typer.Option(help="Our column name to the file's: text=sentence1.")
    ] = "",
    on_error: OnError = "stop",
    backend: BackendName = "auto",
    threads: Threads = None,
    cache: Annotated[
        int, typer.Option(min=0, help="Megabytes of words by themselves to keep; 0 for none.")
    ] = 64,
    as_json: AsJson = False,
) -> None:
    """Write vectors of words in their context: one array per line, layers x words x width.

    An interrupted run into an .npz goes on where it stopped when the same command is given again.
    """
    from softquery.runtime.embed.layer_choice import check_choice, parse_layers
    from softquery.runtime.embed.vector_output import FORMS, embed_rows
    from softquery.runtime.partial_file import check_output

    if (file is None) == (not text):
        raise ConfigError("give either a file, or --text TEXT")
    require_choice("--precision", precision, ("float32", "float16"))
    require_choice("--on-error", on_error, ("stop", "skip"))
    choice = parse_layers(layers)
    if output is not None:
        check_output(output, forms=FORMS, what="vectors")
    elif file is not None:
        raise ConfigError("name a file for the vectors with --output: .npz or .parquet")
    bad = BadRows(output) if on_error == "skip" else None
    rows = _rows(file, text or [], columns, bad)
    embedder = _load(model, backend, threads, cache)
    check_choice(choice, embedder.num_layers)
    if choice == "mix" and embedder.learnt_mix is None:
        note("this bundle has learnt no mix of its own; the average of all layers is used instead")
    if output is None:
        _show(embedder, text or [], choice, stateful, as_json)
        return
    with counting("lines") as advance:
        result = embed_rows(
            embedder,
            rows,
            output,
            layers=choice,
            precision=precision,  # type: ignore[arg-type]
            state="carried" if stateful else "fresh",
            advance=advance,
        )
    told = f"{counted(result.num_rows, 'line')}, {counted(result.num_tokens, 'word')}"
    tell_end(result, told, bad, lambda: _note_cuts(result.num_cut, embedder), as_json=as_json)


def _rows(
    file: Path | None, texts: list[str], columns: str, bad: BadRows | None
) -> Iterator["Sentence"]:
    from softquery.files import Sentence, read_sentences

    if file is None:
        return (Sentence(each, number, "--text") for number, each in enumerate(texts, 1))
    rename = parse_rename(columns)
    if bad is None:
        return read_sentences(file, rename=rename)
    return bad.kept_beside(read_sentences(file, rename=rename, on_bad=bad.add))


def _load(
    model: str, backend: str, threads: int | None, cache: int
) -> "ContextEmbedder | PieceEmbedder":
    from softquery.runtime import load, open_embedder
    from softquery.runtime.loading import opened

    bundle = opened(model)
    if bundle.config.kind == "encoder":  # it reads pieces, of which none is kept
        found: PieceEmbedder = load(bundle, backend=backend, threads=threads)  # type: ignore[arg-type]
        return found
    return open_embedder(
        bundle,
        backend=backend,  # type: ignore[arg-type]
        threads=threads,
        cache_bytes=cache * MEGABYTE,
    )


def _show(
    embedder: "ContextEmbedder | PieceEmbedder",
    texts: list[str],
    choice: "Choice | int",
    stateful: bool,
    as_json: bool,
) -> None:
    """Print the vectors of a few texts: all of them as JSON, their beginnings as a table."""
    tokens = embedder.tokens(texts)
    computes = embedder.stream() if stateful else embedder
    found = computes.embed(texts, layers=choice)
    _note_cuts(embedder.num_cut(tokens), embedder)
    for sentence, words, vectors in zip(texts, tokens, found, strict=True):
        if as_json:
            print_json({"text": sentence, "tokens": words, "vectors": vectors.tolist()})
            continue
        names = range(len(vectors)) if choice == "all" else [choice]
        rows = [
            (word, layer, " ".join(f"{value:.4f}" for value in vector[:SHOWN]) + " …")
            for place, word in enumerate(words[: embedder.max_tokens])
            for layer, vector in zip(names, vectors[:, place], strict=True)
        ]
        shape = " x ".join(map(str, vectors.shape))
        print_table(f"{sentence}  ({shape})", ("word", "layer", "vector"), rows)


def _note_cuts(count: int, embedder: "ContextEmbedder | PieceEmbedder") -> None:
    if count:
        note(f"{counted(count, 'line')} cut to the model's {embedder.max_tokens} words")
