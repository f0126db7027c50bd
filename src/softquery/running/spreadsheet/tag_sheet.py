"""Tags from a table: a linear-chain CRF on a shipped model that stays as it is. No torch.

With few sentences every one is worth learning from: they are measured by cross-validation, and the
model that is kept has learnt from all of them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery import __version__
from softquery.answers import TagError, TagSet
from softquery.answers.tag_schemes import OUTSIDE, Span, spans_of
from softquery.bundle import (
    Bundle,
    BundleConfig,
    Card,
    CardData,
    make_card,
    read_bundle,
    write_bundle,
)
from softquery.errors import BundleError, ConfigError, InputError, counted
from softquery.files import TaggedSentence
from softquery.measure.cross_validation import NEVER, stratified_folds
from softquery.running.spreadsheet.held_out import MOST_MISTAKES
from softquery.running.spreadsheet.labelled_rows import deal_out
from softquery.running.spreadsheet.report import Report
from softquery.running.spreadsheet.sheet_options import SheetOptions
from softquery.running.spreadsheet.tag_head import (
    ReadSentences,
    answered_tags,
    fit_word_head,
    gold_tags,
)
from softquery.running.spreadsheet.tag_table import TaggedTable
from softquery.runtime.batches import Floats
from softquery.runtime.tag.backend import WORD_HEAD
from softquery.runtime.tag.evaluate import TagEvaluation
from softquery.runtime.tag.word_head import BASE_MODEL, ChainHead, Clues, base_fingerprint
from softquery.runtime.tag.word_states import WordStates, open_states
from softquery.text import TextConfig, TextPipeline, language_name, language_of, pipeline_from_words
from softquery.zoo import entries, resolve

Ids = NDArray[np.int64]
BASES = {"en": ("elmo-en", "match-en"), "zh": ("match-zh",)}
"""What words are read by in a language: the first that is installed."""
FOLDS = 5
CROSSED = 1_000
"""Fewer sentences than these are measured by cross-validation, and all of them learnt from."""
HELD_SHARE, MOST_HELD = 0.2, 2_000
MOST_TOKENS = 60_000
"""Words that a head is fitted to."""
MOST_TAGS = 300
SINGLE = 0.95
"""Share of tokens of one character, from which on text is cut into characters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaggedRun:
    """A bundle that lies in the run's own folder, and what is known about it."""

    tags: TagSet
    held: TagEvaluation
    """What was answered to sentences that no fit had seen."""
    how: str
    learned_by: str
    facts: dict[str, Any]
    warnings: list[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class WordBase:
    """What words are read by."""

    name: str
    language: str
    bundle: Bundle
    states: WordStates
    warnings: list[str]


def train_tags(table: TaggedTable, dev: TaggedTable | None, options: SheetOptions) -> TaggedRun:
    """Fit a head, measure it on sentences that it has not seen, and write its bundle.

    Args:
        table: The sentences.
        dev: Those to measure on, where they are given.
        options: Where it writes, and what it stands on.
    """
    base = choose_base(table, options)
    tags = _tag_set(table)
    kind: Clues = "characters" if _are_characters(table.rows) else "words"
    read = _read(table, tags, base)
    learnt, held_places = _split(table, dev, options)
    num_fits = FOLDS + 1 if dev is None and not len(held_places) else 1
    options.observer.begin(num_fits, 0)
    head = fit_word_head(read.some(learnt), tags, kind, base.states.widths)
    options.observer.step(1, {})
    if dev is not None:
        theirs, how = _read(dev, tags, base), f"{counted(len(dev.rows), 'given sentence')}"
        answers = answered_tags(head, theirs, tags)
    elif len(held_places):
        theirs = read.some(held_places)
        how = f"{len(held_places):,} sentences that were held out, and not learnt from"
        answers = answered_tags(head, theirs, tags)
    else:
        theirs, answers = _crossed(read, table, tags, kind, base, options)
        how = (
            f"{len(theirs.rows):,} sentences, each by a model of {FOLDS} that had not seen it "
            "(cross-validation); the model that is kept has learnt from all of them"
        )
    num_learnt = sum(len(read.rows[place].tokens) for place in learnt.tolist())
    _write(head, tags, base, kind, options, read.some(learnt).rows)
    return TaggedRun(
        tags=tags,
        held=TagEvaluation(tags, list(theirs.rows), gold_tags(theirs, tags), answers, 0),
        how=how,
        learned_by=f"a head on {base.name}, which stays as it is: vectors and letters of words, by "
        "a conditional random field",
        facts={
            "sentences learnt from": len(learnt),
            "words learnt from": num_learnt,
            "words are read by": base.name,
            "clues": len(head.known.keys),
            "tags": f"{table.scheme}, {len(tags.labels)} to learn",
            "seed": options.seed,
        },
        warnings=base.warnings,
    )


def choose_base(table: TaggedTable, options: SheetOptions) -> WordBase:
    """What words are read by: as named, or by the language of the sentences.

    Raises:
        InputError: Nothing here reads the language.
        ConfigError: What is named has no name under which the head would find it.
    """
    counts = Counter(language_of(_text(row)) for row in table.rows)
    known = Counter({code: many for code, many in counts.items() if code in BASES})
    language = max(known, key=lambda code: (known[code], str(code))) if known else None
    names, reason = (
        BASES.get(str(language), ()),
        f"most sentences are in {language_name(str(language))}",
    )
    if options.init is not None:
        names, reason = (fspath(options.init),), "as named"
    if not names:
        raise InputError(
            f"most sentences are in no language that {', '.join(_every_base())} read; name an ELMo "
            "or a matcher with --init",
            source=table.source,
        )
    warnings: list[str] = []
    for name in names:
        try:
            bundle = read_bundle(resolve(name))
        except BundleError as error:
            if name == names[-1]:
                raise
            warnings.append(f"{error}; {names[-1]} reads the words instead, a little less well")
            options.say(f"warning: {warnings[-1]}")
            continue
        break
    if not _has_name(bundle):
        raise ConfigError(
            f"{bundle.path}: a head finds its base by a name; add it first: softquery models add "
            f"{bundle.path}"
        )
    options.say(f"words are read by {bundle.path.name} ({reason}), which stays as it is")
    return WordBase(
        name=bundle.path.name,
        language=str(language or "und"),
        bundle=bundle,
        states=open_states(bundle),
        warnings=warnings,
    )


def _has_name(bundle: Bundle) -> bool:
    """Whether a bundle is found by its name wherever its package is installed."""
    named = [each for each in entries() if each.name == bundle.path.name]
    return any(each.path.resolve() == bundle.path.resolve() for each in named)


def _every_base() -> list[str]:
    return [name for names in BASES.values() for name in names]


def _text(row: TaggedSentence) -> str:
    return " ".join(row.tokens)


def _are_characters(rows: Sequence[TaggedSentence]) -> bool:
    """Whether tokens are single characters, as Chinese files of names mostly have them."""
    lengths = [len(token) == 1 for row in rows for token in row.tokens]
    return float(np.mean(lengths)) >= SINGLE


def _tag_set(table: TaggedTable) -> TagSet:
    try:
        tags = TagSet.found([row.tags or [] for row in table.rows], given=table.scheme)
    except ValueError as error:
        raise InputError(str(error), source=table.source) from None
    if len(tags.labels) > MOST_TAGS:
        raise InputError(
            f"{len(tags.labels):,} different tags; {MOST_TAGS} are the most", source=table.source
        )
    return tags


def _read(table: TaggedTable, tags: TagSet, base: WordBase) -> ReadSentences:
    """Sentences with their vectors and tag ids."""
    gold = []
    for row in table.rows:
        try:
            gold.append(tags.ids(row.tags or [], given=table.scheme))
        except TagError as error:
            place = row.rows[error.place]
            raise InputError(str(error), source=row.source, row=place) from None
    states: list[Floats] = base.states.of([row.tokens for row in table.rows])
    return ReadSentences(rows=table.rows, states=states, gold=gold)


def _split(table: TaggedTable, dev: TaggedTable | None, options: SheetOptions) -> tuple[Ids, Ids]:
    """The places that are learnt from, and those that are held out; none by cross-validation."""
    learnt, held = np.arange(len(table.rows)), np.zeros(0, dtype=np.int64)
    if dev is None and len(learnt) >= CROSSED:
        share = min(HELD_SHARE, MOST_HELD / len(learnt))
        learnt, held = deal_out(_has_tags(table), table.groups(), share=share, seed=options.seed)
    drawn = np.random.default_rng(options.seed).permutation(learnt)
    words = np.cumsum([len(table.rows[place].tokens) for place in drawn.tolist()])
    if words[-1] > MOST_TOKENS:
        some = drawn[: max(1, int((words <= MOST_TOKENS).sum()))]
        options.say(
            f"warning: a head learns from {len(some):,} sentences, drawn from {len(learnt):,}; the "
            "recipes tagger-elmo and bert-tag learn from all of them, and need torch: "
            'pip install "softquery[train]"'
        )
        learnt = np.sort(some)
    return learnt, held


def _has_tags(table: TaggedTable) -> Ids:
    """Whether a sentence has another tag than O, by which folds are alike."""
    return np.array([any(tag != OUTSIDE for tag in row.tags or ()) for row in table.rows], np.int64)


def _crossed(
    read: ReadSentences,
    table: TaggedTable,
    tags: TagSet,
    kind: Clues,
    base: WordBase,
    options: SheetOptions,
) -> tuple[ReadSentences, list[list[str]]]:
    """Every sentence by a head that had not seen it."""
    folds = stratified_folds(_has_tags(table), table.groups(), num_folds=FOLDS, seed=options.seed)
    answers: dict[int, list[str]] = {}
    for fold in range(int(folds.max(initial=NEVER)) + 1):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        head = fit_word_head(read.some(inside), tags, kind, base.states.widths)
        found = answered_tags(head, read.some(outside), tags)
        answers.update(zip(outside.tolist(), found, strict=True))
        options.observer.step(fold + 2, {})
    places = np.array(sorted(answers), dtype=np.int64)
    if not len(places):
        raise InputError("too few different sentences to measure by; add some", source=table.source)
    return read.some(places), [answers[place] for place in places.tolist()]


def _write(
    head: ChainHead,
    tags: TagSet,
    base: WordBase,
    kind: Clues,
    options: SheetOptions,
    rows: Sequence[TaggedSentence],
) -> None:
    pipeline = _pipeline(rows, kind)
    name = options.output.name
    config = BundleConfig(
        kind="tagger",
        model={
            "name": WORD_HEAD,
            "config": {
                "output_size": len(tags.labels),
                "vocab_size": pipeline.vocab_size,
                "clues": kind,
                BASE_MODEL: base.bundle.config.model,
            },
        },
        task={"name": "tag", **tags.to_dict()},
        text=pipeline.config.to_dict(),
        library_version=__version__,
        base=base.name,
        base_fingerprint=base_fingerprint(base.bundle),
    )
    card = Card(
        name=name,
        purpose="Tags words, learnt from a file.",
        languages=[base.language],
        licence="unstated",
        data=[CardData(name="train", rows=len(rows), licence="unstated")],
        training={
            "words are read by": f"{base.name}, frozen; this bundle needs it to be installed",
            "seed": options.seed,
        },
        numbers=[],
        limits=[f"What neither {base.name} nor the letters of a word tell, the head cannot know."],
    )
    write_bundle(
        options.output,
        config=config,
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights=head.to_weights(),
        metrics={"training": {"seed": options.seed}},
        card=make_card(card, kind="tagger"),
    )


def _pipeline(rows: Sequence[TaggedSentence], kind: Clues) -> TextPipeline:
    """How text is cut into the words that are tagged."""
    unit = "characters" if kind == "characters" else "words"
    config = TextConfig(unit=unit, unicode_form="NFC", max_tokens=512)  # type: ignore[arg-type]
    counts = Counter(token for row in rows for token in row.tokens)
    words = sorted(word for word, many in counts.items() if many > 1)
    return pipeline_from_words(words, config)


def make_tag_report(name: str, table: TaggedTable, run: TaggedRun) -> Report:
    """Everything that the page shows, as plain values; probabilities of tags there are none.

    Args:
        name: Of the model.
        table: The sentences of the file.
        run: The model, and what it answered to sentences that were held out.
    """
    figures = run.held.report()
    chance = {} if run.tags.has_spans else {"most_frequent_label": _most_frequent(run)}
    return {
        "softquery": __version__,
        "task": "tag",
        "name": name,
        "file": table.source,
        "columns": [
            {"ours": each.ours, "theirs": each.theirs, "why": each.why} for each in table.columns
        ],
        "found": list(table.told),
        "rows": len(table.rows),
        "repeated_rows": table.num_repeated,
        "labels": table.counts,
        "learned_by": run.learned_by,
        "facts": run.facts,
        "held_out": run.how,
        "figures": figures,
        **chance,
        "by_class": sorted(
            ({"label": label, **found} for label, found in figures["by_label"].items()),
            key=lambda each: (-each["n"], each["label"]),
        ),
        "calibration": [],
        "by_length": run.held.slices("length"),
        "curves": [],
        "by_rows": [],
        "tried": [],
        "warnings": [*table.warnings, *run.warnings],
        "mistakes": [
            _shown(each, has_spans=run.tags.has_spans)
            for each in run.held.mistakes()[:MOST_MISTAKES]
        ],
        "suspects": [],
    }


def _most_frequent(run: TaggedRun) -> float:
    counts = Counter(tag for tags in run.held.gold for tag in tags)
    return max(counts.values()) / counts.total()


def _shown(mistake: dict[str, Any], *, has_spans: bool) -> dict[str, Any]:
    """A mistake as people read it: of spans those that were missed, and those that are none."""
    tokens = mistake["tokens"]
    shown = {name: " ".join(mistake[name]) for name in ("tokens", "tags", "predicted")}
    if has_spans:
        gold, said = (set(spans_of(mistake[name])) for name in ("tags", "predicted"))
        shown["tags"] = _spans(gold - said, tokens)
        shown["predicted"] = _spans(said - gold, tokens)
    return {**mistake, **shown}


def _spans(spans: Iterable[Span], tokens: Sequence[str]) -> str:
    """Spans in their order, as text."""
    ordered = sorted(spans, key=lambda span: span.start)
    return "; ".join(f"{' '.join(tokens[one.start : one.end])} ({one.label})" for one in ordered)
