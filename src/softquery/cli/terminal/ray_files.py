"""The bulk verbs on Ray: what was asked on the command line, and how it ended."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from softquery.cli.terminal.answer_file import BulkAsk, ModelWords, Prepare, note_cuts
from softquery.cli.terminal.console import note, print_json
from softquery.cli.terminal.progress import counting
from softquery.cli.terminal.shared_options import parse_rename
from softquery.errors import ConfigError, counted

if TYPE_CHECKING:
    from softquery.ray import Actors, ModelChoice, ShardedResult, VectorOptions

VERBS = {"encoder": "fill"}
"""Where the verb decides what is opened: an encoder fills masks."""


def answer_on_ray(
    kind: str, words: ModelWords, ask: BulkAsk, request: object, prepare: Prepare
) -> None:
    """Answer the rows of many files into a folder of shards.

    Args:
        kind: What the model must be.
        words: What the command line says of it.
        ask: What it says of the rows.
        request: A generator's, or which words are wanted for masks.
        prepare: What is done with the rows before they are answered.
    """
    from softquery.ray import answer_files
    from softquery.runtime.kinds import check_kind, kind_of

    choice, actors = _choice(VERBS.get(kind, "answer"), words, ask)
    bundle = choice.bundle()
    check_kind(bundle, kind)
    bulk: Any = kind_of(bundle).bulk
    with counting(f"{bulk.noun}s") as advance:
        result = answer_files(
            choice,
            ask.source,
            _output(ask),
            form=ask.engine.form or "jsonl",
            columns=parse_rename(ask.columns),
            on_error=ask.on_error,
            request=request,
            prepare=None if prepare is iter else prepare,
            actors=actors,
            advance=advance,
        )
    _tell(result, f"{counted(result.num_rows, bulk.noun)} {bulk.done}", ask)
    if result.num_cut:
        note_cuts(choice.open(), result.num_cut)


def embed_on_ray(words: ModelWords, ask: BulkAsk, options: "VectorOptions") -> None:
    """Write the vectors of the rows of many files into a folder of shards.

    Args:
        words: What the command line says of the model.
        ask: What it says of the rows.
        options: What of each vector is written.
    """
    from softquery.ray import embed_files

    choice, actors = _choice("embed", words, ask)
    with counting("lines") as advance:
        result = embed_files(
            choice,
            ask.source,
            _output(ask),
            form=ask.engine.form or "parquet",
            columns=parse_rename(ask.columns),
            on_error=ask.on_error,
            options=options,
            actors=actors,
            advance=advance,
        )
    _tell(result, counted(result.num_rows, "line"), ask)
    if result.num_cut:
        note(f"{counted(result.num_cut, 'line')} cut to the model's limit")


def _choice(verb: str, words: ModelWords, ask: BulkAsk) -> tuple["ModelChoice", "Actors"]:
    """The model and who opens it; a thread per actor unless more are asked for."""
    from softquery.ray import Actors, ModelChoice

    actors = Actors(
        num_actors=ask.engine.num_actors, gpus=ask.engine.gpus, threads=words.threads or 1
    )
    return ModelChoice(source=words.name, verb=verb, backend=words.backend), actors


def _output(ask: BulkAsk) -> str:
    if ask.output is None:
        raise ConfigError("--engine ray needs --output: a folder for the shards")
    return ask.output


def _tell(result: "ShardedResult", told: str, ask: BulkAsk) -> None:
    """Tell how the run ended."""
    resumed = f" ({result.num_resumed:,} of them before)" if result.num_resumed else ""
    shards = f"{counted(result.num_shards, 'shard')} of {counted(result.num_files, 'file')}"
    note(f"{told}{resumed}, {shards}: {result.output}")
    if result.num_skipped:
        note(f"{counted(result.num_skipped, 'bad row')} skipped: {result.output}/_errors")
    if ask.as_json:
        print_json(asdict(result))
