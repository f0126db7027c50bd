"""`softquery generate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.terminal import shared_options as options
from softquery.cli.terminal.answer_file import (
    BulkAsk,
    ModelWords,
    answer_in_bulk,
    load_kind,
    note_cuts,
)
from softquery.cli.terminal.console import note, print_json, print_table, print_text
from softquery.cli.terminal.engine_choice import chosen_engine
from softquery.errors import ConfigError, counted

if TYPE_CHECKING:
    from softquery.answers import Generated
    from softquery.decoding import Strategy
    from softquery.runtime import GenerateRequest, Generator

Input = Annotated[
    str | None,
    typer.Option(
        "--input",
        metavar="PATH",
        help="Many texts: .txt .tsv .csv .jsonl .parquet, .gz .xz.",
    ),
]
Columns = Annotated[str, typer.Option(help="Map our column name to the file's: source=text.")]
Beam = Annotated[int, typer.Option(min=1, help="Texts that beam search keeps; 1 is greedy.")]
TopK = Annotated[
    int, typer.Option(min=0, help="Sample from this many of the likeliest tokens; 0: all.")
]
TopP = Annotated[
    float,
    typer.Option(help="Sample from the likeliest tokens that together have this probability."),
]
ONE_TEXT = "--stream and --explain show one text; give one"


def generate(
    texts: options.Texts = None,
    model: options.Model = "translate-de-en",
    source: Input = None,
    output: options.AnswersOutput = None,
    columns: Columns = "",
    beam: Beam = 5,
    length_penalty: Annotated[
        float, typer.Option(min=0, help="0 ranks by probability, which favours short texts.")
    ] = 1.0,
    coverage: Annotated[
        float, typer.Option(min=0, help="Penalty for leaving out a part of the source.")
    ] = 0.0,
    sample: Annotated[bool, typer.Option("--sample", help="Sample instead of searching.")] = False,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    temperature: Annotated[float, typer.Option(help="Below 1, likelier texts.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sampling.")] = 0,
    n_best: Annotated[int, typer.Option(min=1, help="Texts for each source.")] = 1,
    prefix: Annotated[str, typer.Option(help="What every text begins with.")] = "",
    min_length: Annotated[int, typer.Option(min=0, help="Fewest tokens.")] = 0,
    max_length: Annotated[int | None, typer.Option(min=1, help="Most tokens.")] = None,
    ban: Annotated[list[str] | None, typer.Option(help="A word not to use. Repeatable.")] = None,
    require: Annotated[list[str] | None, typer.Option(help="A word to use. Repeatable.")] = None,
    rules: Annotated[
        str, typer.Option(help="Couplets: form,repeats,tones; all; none. Default form,repeats.")
    ] = "",
    rank: Annotated[
        str, typer.Option(help="Couplets: order by `likelihood`, or by `both-ways`.")
    ] = "likelihood",
    stream: Annotated[
        bool,
        typer.Option("--stream", help="Print one text as it is generated (beam 1 or --sample)."),
    ] = False,
    explain: Annotated[
        Path | None, typer.Option(help="For one text, show where it looked: .html .svg .png .json.")
    ] = None,
    on_error: options.OnError = "stop",
    backend: options.BackendName = "auto",
    threads: options.Threads = None,
    engine: options.EngineName = "local",
    num_actors: options.NumActors = None,
    gpus: options.Gpus = 0,
    form: options.Form = None,
    as_json: options.AsJson = False,
) -> None:
    """Generate text from text: translations, lower lines of couplets, or whatever was learnt.

    An interrupted bulk run continues where it stopped when you give the same command again.
    """
    drawn = (sample, top_k, top_p, temperature, seed)
    options.require_input(texts, source, "texts, or --input FILE", on_error)
    runs_on = chosen_engine(engine, num_actors, gpus, form, source=source)
    strategy = _strategy(beam, n_best, (length_penalty, coverage), drawn)
    request = _request(
        strategy, prefix, (min_length, max_length), (ban or [], require or []), (rules, rank)
    )
    if source is None:
        options.check_given(texts or [], output, "text", printed="texts")
        if explain is not None and len(texts or []) > 1:
            raise ConfigError(ONE_TEXT)
        options.check_explain(explain)
        if stream:
            _check_stream(texts or [], strategy, as_json)
        generator: Generator = load_kind("generator", model, backend, threads)
        if explain is not None:
            generator.explain((texts or [""])[0], request).plot(explain)
            options.note_why(explain)
        _some(generator, texts or [], request, stream, as_json)
        return
    if stream or explain is not None:
        raise ConfigError("--stream and --explain show one text; give it in quotes")
    ask = BulkAsk(source, output, columns, on_error, as_json, runs_on)
    answer_in_bulk("generator", ModelWords(model, backend, threads), ask, request)


def _strategy(
    beam: int,
    n_best: int,
    ranked: tuple[float, float],
    drawn: tuple[bool, int, float, float, int],
) -> "Strategy":
    from softquery.decoding import Beam, Greedy, Ranking, Sampling

    ranking = Ranking(length=ranked[0], coverage=ranked[1])
    sample, top_k, top_p, temperature, seed = drawn
    try:
        if sample or top_k or top_p != 1.0 or temperature != 1.0:
            return Sampling(
                num_samples=n_best, top_k=top_k, top_p=top_p, temperature=temperature, seed=seed,
                ranking=ranking,
            )  # fmt: skip
        if beam == 1 and n_best == 1:
            return Greedy(ranking=ranking)
        return Beam(size=max(beam, n_best), num_best=n_best, ranking=ranking)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _request(
    strategy: "Strategy",
    prefix: str,
    lengths: tuple[int, int | None],
    words: tuple[list[str], list[str]],
    couplet: tuple[str, str],
) -> "GenerateRequest":
    from softquery.decoding import COUPLET_RULES
    from softquery.runtime import GenerateRequest

    rules, rank = couplet
    if rank not in ("likelihood", "both-ways"):
        raise ConfigError(f"--rank must be likelihood or both-ways, got {rank!r:.40}")
    named = tuple(each.strip() for each in rules.split(",") if each.strip())
    given = {"all": COUPLET_RULES, "none": ()}.get(rules.strip(), named)
    return GenerateRequest(
        strategy=strategy,
        prefix=prefix,
        min_length=lengths[0],
        max_length=lengths[1],
        ban=tuple(words[0]),
        require=tuple(words[1]),
        rules=given if rules else None,  # type: ignore[arg-type]
        rank="both_ways" if rank == "both-ways" else "likelihood",
    )


def _check_stream(texts: list[str], strategy: "Strategy", as_json: bool) -> None:
    from softquery.decoding import Beam

    if len(texts) > 1:
        raise ConfigError(ONE_TEXT)
    if isinstance(strategy, Beam) or getattr(strategy, "num_samples", 1) > 1:
        raise ConfigError("--stream follows one text: use it with --beam 1, or --sample")
    if as_json:
        raise ConfigError("--stream shows a text as it is made, --json when it is whole; give one")


def _some(
    generator: "Generator",
    texts: list[str],
    request: "GenerateRequest",
    stream: bool,
    as_json: bool,
) -> None:
    from softquery.answers import generated_record
    from softquery.errors import InputError

    if stream:
        found = [generator.stream(texts[0], _show_piece, request)]
        print_text("")
    else:
        found = generator.generate(texts, request)
    for text, answers in zip(texts, found, strict=True):
        if not answers:
            raise InputError(f"the rules leave no text for {text!r:.80}")
    _note_sources(generator, texts)
    _note_ends(found)
    if as_json:
        records = [generated_record(*pair) for pair in zip(texts, found, strict=True)]
        print_json(records[0] if len(records) == 1 else records)
    elif not stream:
        _print(found)


def _show_piece(piece: str) -> None:
    print_text(piece, end="")


def _print(found: list[list["Generated"]]) -> None:
    """The texts as they are; with several for a source, tables with their scores."""
    for answers in found:
        if len(answers) == 1:
            print_text(answers[0].text)
        else:
            print_table("", ("text", "score"), [(each.text, each.score) for each in answers])


def _note_sources(generator: "Generator", texts: list[str]) -> None:
    """What the model could not read of them."""
    from softquery.runtime.generate.request import read_sources

    read = read_sources(texts, generator.source_pipeline)
    note_cuts(generator, sum(each.num_cut > 0 for each in read))
    if count := sum(not each.tokens for each in read):
        note(f"{counted(count, 'text')} with nothing that the model reads")
    if count := sum(each.num_unknown for each in read):
        total = sum(len(each.tokens) for each in read)
        note(f"{count:,} of {total:,} tokens are unknown to the model")


def _note_ends(found: list[list["Generated"]]) -> None:
    if count := sum(answers[0].is_cut for answers in found):
        note(f"{counted(count, 'answer')} ended at the longest length (--max-length)")
