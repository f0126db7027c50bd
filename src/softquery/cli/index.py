"""`softquery index`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softquery.cli.terminal.console import note, print_json, print_table
from softquery.cli.terminal.progress import counting
from softquery.cli.terminal.shared_options import AllThreads, AsJson, parse_rename
from softquery.errors import ConfigError, InputError, counted
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.search import Changes, Index, IndexView, StoreIndex

FORMS = (".tsv", ".jsonl")
DUPLICATE = ("first", "second", "first_question", "second_question", "score", "is_exact")
REBUILT_WITH = "--model, --vectors, --min-score, --aim, --duplicates, --threads and --json"
FOR_NEW = "--texts, --answer-share, --synonyms and --passages are for a new index, which keeps them"
SHOWN = 5
"""Repeated questions that are named one by one."""


Questions = Annotated[
    Path | None,
    typer.Argument(
        help="Questions: .csv .tsv .jsonl .parquet, plain or .gz .xz; for --rebuild the index."
    ),
]
MatcherName = Annotated[
    str | None,
    typer.Option(
        help="The matcher; by default match-en or match-zh, by the rows' language. Only --rebuild "
        "changes it."
    ),
]
Language = Annotated[str | None, typer.Option(help="Rows in this language only, such as en or zh.")]
VectorSource = Annotated[
    str | None,
    typer.Option(
        help="Vectors for recall: auto (the default: embed-en or embed-zh where it is there), "
        "words, states, or a bundle; only --rebuild changes it."
    ),
]
EncodingForm = Annotated[
    str | None,
    typer.Option(help="How encodings are stored: int3 (for most models), int8, float16 or none."),
]
WordColumns = Annotated[
    str | None, typer.Option(help="Columns in which words are looked up, `question` by default.")
]
Columns = Annotated[
    str, typer.Option(help="Map our column names to the file's: question=title,answer=body.")
]
Duplicates = Annotated[
    Path | None, typer.Option(help="Write rows that ask the same to this file (.tsv .jsonl).")
]
Compact = Annotated[
    bool, typer.Option("--compact", help="Merge all segments into one, without deleted rows.")
]
TextColumns = Annotated[
    str | None,
    typer.Option(help="Columns beside the question by which rows are found, such as answer."),
]
AnswerShare = Annotated[
    float | None,
    typer.Option(
        help="How much an answer counts in the vector of its row, beside the question (0.3); 0: "
        "not at all."
    ),
]
SynonymFile = Annotated[
    Path | None, typer.Option(help="Words that mean the same: a line each, commas between them.")
]
PassageWords = Annotated[
    int | None, typer.Option(help="Cut longer texts into passages of so many words (48); 0: none.")
]
AimOption = Annotated[
    str | None,
    typer.Option(
        help="What the threshold is for: precision=P (0.9 by default) or coverage=C. --min-score "
        "wins over it."
    ),
]
Rebuild = Annotated[
    bool,
    typer.Option(
        "--rebuild",
        help="Encode all rows again, with today's model, or with --model or --vectors.",
    ),
]


Add = Annotated[
    bool, typer.Option("--add", help="Add rows to an index, replacing those of the same id.")
]
Delete = Annotated[
    list[str] | None, typer.Option(help="Remove a row by its id or question. Repeatable.")
]
StorePlace = Annotated[
    str | None,
    typer.Option(
        help="The index in a database: postgresql://HOST/DATABASE#NAME or milvus://HOST:PORT#NAME, "
        "without a password (PGPASSWORD, MILVUS_TOKEN); a folder is taken as well."
    ),
]
Origin = Annotated[
    str | None,
    typer.Option("--from", help="Copy this index, a folder or a database, to --output or --store."),
]


def index(
    source: Questions = None,
    output: Annotated[Path | None, typer.Option(help="The index, a folder.")] = None,
    store: StorePlace = None,
    origin: Origin = None,
    model: MatcherName = None,
    language: Language = None,
    add: Add = False,
    delete: Delete = None,
    columns: Columns = "",
    vectors: VectorSource = None,
    encodings: EncodingForm = None,
    words: WordColumns = None,
    texts: TextColumns = None,
    answer_share: AnswerShare = None,
    synonyms: SynonymFile = None,
    passages: PassageWords = None,
    min_score: Annotated[
        float | None, typer.Option(help="Hits below it are no answer; by default what --aim needs.")
    ] = None,
    aim: AimOption = None,
    duplicates: Duplicates = None,
    compact: Compact = False,
    rebuild: Rebuild = False,
    threads: AllThreads = None,
    as_json: AsJson = False,
) -> None:
    """Build an index of questions, or change one; in a folder (--output) or a database (--store).

    If the first indexing is interrupted, the same command continues it. Without a file, an index
    is changed (--delete, --min-score, --aim, --compact), searched for duplicates (--duplicates)
    or described.

    When its model has been replaced by a newer one, `softquery index faq.sq --rebuild` builds the
    index again from the rows that it holds. Until that is done, it stays as it was.
    """
    settled = _text_settings(texts, answer_share, synonyms, passages)
    if rebuild:
        if settled:
            raise ConfigError(FOR_NEW)
        if add or delete or compact or columns or encodings or words or language:
            raise ConfigError(f"--rebuild goes with {REBUILT_WITH} alone")
        if store is not None or origin is not None:
            raise ConfigError("--rebuild takes an index in a folder, without --store and --from")
        place = _place(_one_index(source, output), None, duplicates)
        made: Index | StoreIndex = _rebuild(Path(place), model, vectors, min_score, threads)
        if aim is not None:
            made.set_aim(aim)
        _tell(made, duplicates, as_json)
        return
    place = _place(output, store, duplicates)
    if origin is not None:
        if source is not None or add or delete or compact or model or columns or language:
            raise ConfigError("--from goes with --output or --store, --threads and --json alone")
        _tell(_copy(origin, place, threads), duplicates, as_json)
        return
    rename = parse_rename(columns)
    if (source is None or add) and settled:
        raise ConfigError(FOR_NEW)
    if source is None and (add or language):
        raise ConfigError(f"{'--add' if add else '--language'} takes a file of questions")
    if source is not None and not add and (delete or compact):
        raise ConfigError("--delete and --compact change an index; with a file also give --add")
    if source is not None and not add:
        stored = _stored(vectors, encodings, words)
        settings = {**stored, **settled, "min_score": min_score, "aim": aim}
        made = _build(source, place, model, language, rename, settings, threads)
    else:
        made = _open(place, threads)
        _change(made, source, delete or [], language, rename)
        if aim is not None:
            made.set_aim(aim)
        if min_score is not None:
            made.set_min_score(min_score)
        if compact:
            made.compact()
    _tell(made, duplicates, as_json)


def _build(
    source: Path,
    place: str,
    model: str | None,
    language: str | None,
    rename: dict[str, str] | None,
    settings: dict[str, Any],
    threads: int | None,
) -> "Index | StoreIndex":
    from softquery.search import Index, IndexSettings, StoreIndex
    from softquery.search.stores.address import is_store

    chosen = IndexSettings(**settings)
    build = StoreIndex.build if is_store(place) else Index.build
    made: Index | StoreIndex
    with counting("rows") as advance:
        made = build(
            source,
            place,
            model=model,
            language=language,
            columns=rename,
            settings=chosen,
            threads=threads,
            advance=advance,
        )
    if made.last_changes.chosen:
        note(made.last_changes.chosen)
    _say(made.last_changes, made.manifest.model)
    return made


def _stored(vectors: str | None, encodings: str | None, words: str | None) -> dict[str, Any]:
    """What is stored of each row."""
    return {
        "vectors": "auto" if vectors is None else vectors,
        "encodings": "auto" if encodings is None else encodings,
        "word_columns": _names("question" if words is None else words),
    }


def _text_settings(
    texts: str | None, answer_share: float | None, synonyms: Path | None, passages: int | None
) -> dict[str, Any]:
    """By which texts rows are found, as far as that was given."""
    from softquery.search.changes.synonyms import read_synonyms

    found = {
        "text_columns": None if texts is None else _names(texts),
        "answer_share": answer_share,
        "synonyms": None if synonyms is None else read_synonyms(synonyms),
        "passage_words": passages,
    }
    return {name: value for name, value in found.items() if value is not None}


def _names(words: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in words.split(",") if name.strip())


def _one_index(source: Path | None, output: Path | None) -> Path:
    """The index that is to be rebuilt, which may stand where a file of questions stands else."""
    if (source is None) == (output is None):
        raise ConfigError("--rebuild takes one index: softquery index INDEX --rebuild")
    return source or output  # type: ignore[return-value]


def _rebuild(
    place: Path,
    model: str | None,
    vectors: str | None,
    min_score: float | None,
    threads: int | None,
) -> "Index":
    from softquery.search import Index

    with counting("rows") as advance:
        made = Index.rebuild(
            place,
            model=model,
            vectors=vectors,
            min_score=min_score,
            threads=threads,
            advance=advance,
        )
    _say(made.last_changes)
    if made.last_changes.untuned:
        note("its tuning was for the former models and is dropped; softquery tune makes it anew")
    for name, value in made.last_changes.dropped.items():
        note(
            f"{name} {value:g} was chosen for the former model's scores and is dropped; "
            f"the model's own is {made.min_score:g}, --min-score sets another"
        )
    return made


def _open(place: str, threads: int | None) -> "Index | StoreIndex":
    from softquery.search import Index, StoreIndex, open_index

    opened = open_index(place, threads=threads)
    if isinstance(opened, (Index, StoreIndex)):
        return opened
    raise ConfigError(f"{place} stands for several indexes, each of which is changed by itself")


def _copy(origin: str, place: str, threads: int | None) -> "IndexView":
    from softquery.search import migrate, open_index

    source = open_index(origin, threads=threads)
    if source.manifest.unfinished:
        raise InputError("indexing was interrupted; finish it before it is copied", source=origin)
    with counting("rows") as advance:
        made = migrate(source, place, advance=advance)
    note(f"{counted(len(made), 'row')} copied from {source.address}")
    if source.tuning is not None:
        note("its tuning stays behind; softquery tune makes it anew in a folder")
    return made


def _tell(made: "IndexView", duplicates: Path | None, as_json: bool) -> None:
    report = _report(made)
    if duplicates is not None:
        report["duplicates"] = _write_duplicates(made, duplicates)
    if as_json:
        print_json(report)
    else:
        report["tuned"] = _shown_tuning(report["tuned"])
        shown = [(localised(name), value) for name, value in report.items() if name != "changes"]
        print_table(made.address, ("", ""), shown)


def _change(
    made: "Index | StoreIndex",
    source: Path | None,
    delete: list[str],
    language: str | None,
    rename: dict[str, str] | None,
) -> None:
    if delete:
        _say(made.delete(delete))
    if source is not None:
        with counting("rows") as advance:
            made.add(source, columns=rename, language=language, advance=advance)
        _say(made.last_changes, made.manifest.model)


def _place(output: Path | None, store: str | None, duplicates: Path | None) -> str:
    """Where the index lies: a folder, or a database."""
    if (output is None) == (store is None):
        raise ConfigError("name the index with --output, or with --store")
    if duplicates is not None and duplicates.suffix not in FORMS:
        raise InputError(f"duplicates are written as {' or '.join(FORMS)}", source=duplicates)
    return str(output) if store is None else store


def _say(changes: "Changes", model: str = "") -> None:
    from softquery.search.query.index_languages import counted_languages

    counts = (
        (changes.added, f"{changes.added:,} added"),
        (changes.updated, f"{changes.updated:,} replaced"),
        (changes.unchanged, f"{changes.unchanged:,} already there"),
        (changes.deleted, f"{changes.deleted:,} removed"),
        (changes.rebuilt, f"{changes.rebuilt:,} encoded again"),
    )
    told = [localised(line) for count, line in counts if count]
    note(", ".join(told) or "no change")
    if changes.unread:
        note(f"{counted_languages(changes.unread)}, which {Path(model).name} does not read")
    if changes.num_weighted:
        what = counted(changes.num_weighted, "row has", "rows have")
        note(f"{what} a weight, by which the odds of the score are multiplied")
    if changes.num_cut:
        note(f"{counted(changes.num_cut, 'question')} cut: longer than the model reads")
    for repeat in changes.repeats[:SHOWN]:
        note(f"row {repeat.row} asks what row {repeat.earlier} asks: {repeat.question:.80}")
    if len(changes.repeats) > SHOWN:
        more = counted(len(changes.repeats) - SHOWN, "more row repeats", "more rows repeat")
        note(f"{more} a question")


def _report(built: "IndexView") -> dict[str, Any]:
    from softquery.search import Changes, StoreIndex

    sizes = built.size_bytes()
    total = sum(sizes.values())
    report: dict[str, Any] = {
        "rows": len(built),
        "model": ", ".join(built.model_names),
        "vectors": built.manifest.vector_source,
        "score": built.manifest.settings.score,
        "aim": built.aim,
        "min_score": built.min_score,
        "tuned": _tuning(built),
        **({} if isinstance(built, StoreIndex) else {"segments": len(built.segments)}),
        # Milvus does not tell them.
        **({"bytes": total, "bytes_per_row": total // max(1, len(built))} if sizes else {}),
        "changes": asdict(getattr(built, "last_changes", None) or Changes()),
    }
    return report


def _tuning(built: "IndexView") -> dict[str, Any] | None:
    """What the index was tuned on, and what that gained."""
    tuning = built.tuning
    if tuning is None:
        return None
    names = ("first_answer", "answered_rightly", "net", "threshold")
    gains = {name: tuning.figures[name].gain for name in names if name in tuning.figures}
    return {
        "queries": tuning.num_queries,
        "from": tuning.kind,
        "surely_better": tuning.is_sure,
        "gain": gains,
    }


def _shown_tuning(tuned: dict[str, Any] | None) -> str:
    if tuned is None:
        return localised("no")
    queries = counted(tuned["queries"], "query", "queries")
    if "net" not in tuned["gain"]:
        return localised(f"by a log of {queries}")
    gain = tuned["gain"]["net"]
    return localised(f"on {queries}; right less wrong answers {gain:+.3f}")


def _write_duplicates(built: "IndexView", path: Path) -> int:
    from softquery.files import shown_cell, write_text

    with counting("rows compared") as advance:
        found = [asdict(each) for each in built.duplicates(advance=advance)]
    if path.suffix == ".jsonl":
        text = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in found)
    else:
        cells = [
            [shown_cell(" ".join(str(cell).split())) for cell in each.values()] for each in found
        ]
        text = "".join("\t".join(line) + "\n" for line in (DUPLICATE, *cells))
    write_text(path, text)
    note(f"{counted(len(found), 'pair of rows asks', 'pairs of rows ask')} the same: {path}")
    return len(found)
