"""`softquery embed`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.terminal.answer_file import BulkAsk, ModelWords, tell_end
from softquery.cli.terminal.bad_rows import BadRows
from softquery.cli.terminal.console import note, print_json, print_table
from softquery.cli.terminal.engine_choice import chosen_engine
from softquery.cli.terminal.progress import counting
from softquery.cli.terminal.shared_options import (
    AsJson,
    BackendName,
    EngineName,
    Gpus,
    NumActors,
    OnError,
    Threads,
    parse_rename,
    require_choice,
)
from softquery.errors import ConfigError, counted

if TYPE_CHECKING:
    from softquery.bundle import Bundle
    from softquery.files import Sentence
    from softquery.runtime import ContextEmbedder, PieceEmbedder, SentenceEncoder
    from softquery.runtime.batches import Floats
    from softquery.runtime.embed.layer_choice import Choice

EmbedModel = Annotated[
    str | None,
    typer.Option(
        help="A name or a folder; by default embed-en or embed-zh, by the language of the texts."
    ),
]
Cache = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Words: megabytes of cache for single words; 0 for none; by default 64.",
    ),
]
VectorForm = Annotated[
    str | None,
    typer.Option(
        help="Engine ray: form of the shards, parquet or npz; of a sentence encoder also npy."
    ),
]
LinesFile = Annotated[
    str | None,
    typer.Argument(help="One text per line (.txt), or a column `text` or `tokens` of a table."),
]
VectorsOutput = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="A sentence encoder's matrix: .npy, .npz or .parquet. Words: one array per line, "
        ".npz or .parquet. Engine ray: a folder of shards.",
    ),
]
CACHE = 64
MEGABYTE = 1024 * 1024
SHOWN = 4
"""Numbers of a vector that a table shows."""


def embed(
    file: LinesFile = None,
    text: Annotated[
        list[str] | None, typer.Option(help="A text in place of a file. Repeatable.")
    ] = None,
    model: EmbedModel = None,
    output: VectorsOutput = None,
    dimensions: Annotated[
        int | None,
        typer.Option(
            min=1, help="Sentences: keep only this many numbers of each vector, the first ones."
        ),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            help="Words: all, mix, top, average, or the number of a layer; by default all."
        ),
    ] = None,
    precision: Annotated[
        str, typer.Option(help="Precision of the numbers written: float32 or float16.")
    ] = "float32",
    stateful: Annotated[
        bool, typer.Option("--stateful", help="Words: carry the state over from line to line.")
    ] = False,
    columns: Annotated[
        str, typer.Option(help="Map our column name to the file's: text=sentence1.")
    ] = "",
    on_error: OnError = "stop",
    backend: BackendName = "auto",
    threads: Threads = None,
    cache: Cache = None,
    engine: EngineName = "local",
    num_actors: NumActors = None,
    gpus: Gpus = 0,
    form: VectorForm = None,
    as_json: AsJson = False,
) -> None:
    """Write vectors: of sentences, or of words in their context, depending on the model.

    A sentence encoder gives each line one vector, and all lines are one matrix. A biLM or a BERT
    without a head gives one array per line, layers x words x width. An interrupted run continues
    when you give the same command again (except for arrays of words in a .parquet).
    """
    from softquery.runtime.loading import opened

    require_choice("--on-error", on_error, ("stop", "skip"))
    runs_on = chosen_engine(engine, num_actors, gpus, form, source=file)
    if file is not None and runs_on.is_ray:
        ask = BulkAsk(file, output, columns, on_error, as_json, runs_on)
        _refuse({"--stateful": stateful or None, "--cache": cache}, "the engine local")
        words = ModelWords(_named(model), backend, threads)
        _embed_shards(words, ask, dimensions, layers, precision)
        return
    wish = _Wish(
        file=None if file is None else Path(file),
        texts=text or [],
        output=None if output is None else Path(output),
        columns=columns,
        skips=on_error == "skip",
        precision=precision,
        backend=backend,
        threads=threads,
        as_json=as_json,
    )
    model = model or wish.default_model()
    bundle = opened(model)
    if bundle.config.kind == "sentence-encoder":
        given = {"--layers": layers, "--stateful": stateful or None, "--cache": cache}
        _refuse(
            given, f"words in context, and {model} gives vectors of sentences; see --model elmo-en"
        )
        _embed_sentences(bundle, wish, dimensions)
        return
    _refuse({"--dimensions": dimensions}, f"sentences, and {model} gives vectors of words")
    _embed_words(bundle, wish, layers or "all", stateful, CACHE if cache is None else cache)


def _named(model: str | None) -> str:
    """With many files, nobody wants to guess a language from all of them."""
    if model is None:
        raise ConfigError("--engine ray needs --model, such as embed-en or embed-zh")
    return model


def _embed_shards(
    words: ModelWords,
    ask: BulkAsk,
    dimensions: int | None,
    layers: str | None,
    precision: str,
) -> None:
    """Embed the rows of many files into a folder of shards."""
    from softquery.cli.terminal.ray_files import embed_on_ray
    from softquery.ray import VectorOptions
    from softquery.runtime.embed.layer_choice import parse_layers
    from softquery.runtime.loading import opened

    require_choice("--precision", precision, ("float32", "float16"))
    is_encoder = opened(words.name).config.kind == "sentence-encoder"
    given = {"--layers": layers} if is_encoder else {"--dimensions": dimensions}
    _refuse(given, "words in context" if is_encoder else "sentences")
    chosen = parse_layers(layers or "all")
    options = VectorOptions(layers=chosen, dimensions=dimensions, precision=precision)
    embed_on_ray(words, ask, options)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wish:
    """What was asked, whatever the vectors are of."""

    file: Path | None
    texts: list[str]
    output: Path | None
    columns: str
    skips: bool
    precision: str
    backend: str
    threads: int | None
    as_json: bool

    def __post_init__(self) -> None:
        if (self.file is None) == (not self.texts):
            raise ConfigError("give either a file, or --text TEXT")
        require_choice("--precision", self.precision, ("float32", "float16"))

    def check_output(self, forms: tuple[str, ...]) -> None:
        """Refuse, before any work, a place where no vectors can go."""
        from softquery.runtime.partial_file import check_output

        if self.output is not None:
            check_output(self.output, forms=forms, what="vectors")
        elif self.file is not None:
            known = f"{', '.join(forms[:-1])} or {forms[-1]}"
            raise ConfigError(f"name a file for the vectors with --output: {known}")

    def default_model(self) -> str:
        """The shipped sentence encoder that reads these texts."""
        from softquery.files import read_sentences
        from softquery.zoo.by_language import encoder_for

        if self.file is None:
            return encoder_for(self.texts, "--text")
        passed_over = (lambda _: None) if self.skips else None
        rows = read_sentences(self.file, rename=parse_rename(self.columns), on_bad=passed_over)
        texts = (row.text if isinstance(row.text, str) else " ".join(row.text) for row in rows)
        return encoder_for(texts, str(self.file))

    def bad_rows(self) -> BadRows | None:
        """Where bad rows go; None where one stops the run."""
        return BadRows(self.output) if self.skips else None

    def rows(self, bad: BadRows | None) -> Iterator["Sentence"]:
        """What is to be embedded."""
        from softquery.files import Sentence, read_sentences

        if self.file is None:
            return (Sentence(each, number, "--text") for number, each in enumerate(self.texts, 1))
        rename = parse_rename(self.columns)
        if bad is None:
            return read_sentences(self.file, rename=rename)
        return bad.kept_beside(read_sentences(self.file, rename=rename, on_bad=bad.add))


def _refuse(given: Mapping[str, object], reason: str) -> None:
    """Refuse the first option that was given and is for another kind of vectors."""
    for option, value in given.items():
        if value is not None:
            raise ConfigError(f"{option} is for {reason}")


def _embed_sentences(bundle: "Bundle", wish: _Wish, dimensions: int | None) -> None:
    from softquery.runtime import load_sentence_encoder
    from softquery.runtime.encode.matrix_output import FORMS, encode_rows
    from softquery.runtime.encode.model import check_dimensions

    wish.check_output(FORMS)
    bad = wish.bad_rows()
    rows = wish.rows(bad)
    encoder = load_sentence_encoder(bundle, backend=wish.backend, threads=wish.threads)  # type: ignore[arg-type]
    check_dimensions(dimensions, encoder.output_size)
    if wish.output is None:
        _show_sentences(encoder, wish, dimensions)
        return
    with counting("lines") as advance:
        result = encode_rows(
            encoder,
            rows,
            wish.output,
            dimensions=dimensions,
            precision=wish.precision,  # type: ignore[arg-type]
            advance=advance,
        )
    told = f"{counted(result.num_rows, 'vector')} of {result.width} numbers"
    cuts = f"{counted(result.num_cut, 'line')} cut to the model's {encoder.max_tokens} tokens"
    tell_end(
        result, told, bad, lambda: note(cuts) if result.num_cut else None, as_json=wish.as_json
    )


def _show_sentences(encoder: "SentenceEncoder", wish: _Wish, dimensions: int | None) -> None:
    """Print the vectors of a few texts: all of them as JSON, their beginnings as a table."""
    vectors = encoder.encode(wish.texts, dimensions=dimensions)
    if wish.as_json:
        for text, vector in zip(wish.texts, vectors.tolist(), strict=True):
            print_json({"text": text, "vector": vector})
        return
    rows = [(text, _beginning(vector)) for text, vector in zip(wish.texts, vectors, strict=True)]
    print_table(" x ".join(map(str, vectors.shape)), ("text", "vector"), rows)


def _beginning(vector: "Floats") -> str:
    return " ".join(f"{value:.4f}" for value in vector[:SHOWN]) + " …"


def _embed_words(bundle: "Bundle", wish: _Wish, layers: str, stateful: bool, cache: int) -> None:
    from softquery.runtime.embed.layer_choice import check_choice, parse_layers
    from softquery.runtime.embed.vector_output import FORMS, embed_rows

    choice = parse_layers(layers)
    wish.check_output(FORMS)
    bad = wish.bad_rows()
    rows = wish.rows(bad)
    embedder = _load_words(bundle, wish, cache)
    check_choice(choice, embedder.num_layers)
    if choice == "mix" and embedder.learnt_mix is None:
        note("this bundle has learnt no mix of its own; the average of all layers is used instead")
    if wish.output is None:
        _show_words(embedder, wish, choice, stateful)
        return
    with counting("lines") as advance:
        result = embed_rows(
            embedder,
            rows,
            wish.output,
            layers=choice,
            precision=wish.precision,  # type: ignore[arg-type]
            state="carried" if stateful else "fresh",
            advance=advance,
        )
    told = f"{counted(result.num_rows, 'line')}, {counted(result.num_tokens, 'word')}"
    tell_end(result, told, bad, lambda: _note_cuts(result.num_cut, embedder), as_json=wish.as_json)


def _load_words(bundle: "Bundle", wish: _Wish, cache: int) -> "ContextEmbedder | PieceEmbedder":
    from softquery.runtime import load, open_embedder

    if bundle.config.kind == "encoder":  # it reads pieces, of which none is kept
        found: PieceEmbedder = load(bundle, backend=wish.backend, threads=wish.threads)  # type: ignore[arg-type]
        return found
    return open_embedder(
        bundle,
        backend=wish.backend,  # type: ignore[arg-type]
        threads=wish.threads,
        cache_bytes=cache * MEGABYTE,
    )


def _show_words(
    embedder: "ContextEmbedder | PieceEmbedder", wish: _Wish, choice: "Choice | int", stateful: bool
) -> None:
    """Print the vectors of a few texts: all of them as JSON, their beginnings as a table."""
    tokens = embedder.tokens(wish.texts)
    computes = embedder.stream() if stateful else embedder
    found = computes.embed(wish.texts, layers=choice)
    _note_cuts(embedder.num_cut(tokens), embedder)
    for sentence, words, vectors in zip(wish.texts, tokens, found, strict=True):
        if wish.as_json:
            print_json({"text": sentence, "tokens": words, "vectors": vectors.tolist()})
            continue
        names = range(len(vectors)) if choice == "all" else [choice]
        rows = [
            (word, layer, _beginning(vector))
            for place, word in enumerate(words[: embedder.max_tokens])
            for layer, vector in zip(names, vectors[:, place], strict=True)
        ]
        shape = " x ".join(map(str, vectors.shape))
        print_table(f"{sentence}  ({shape})", ("word", "layer", "vector"), rows)


def _note_cuts(count: int, embedder: "ContextEmbedder | PieceEmbedder") -> None:
    if count:
        note(f"{counted(count, 'line')} cut to the model's {embedder.max_tokens} words")
