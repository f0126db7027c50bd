"""The card of a freshly trained bundle: what the run itself knows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from softquery.bundle import Card, CardData, CardNumber, make_card
from softquery.recipes import AnyRun, BertRun, ElmoRun, GenerateSettings, Run
from softquery.recipes.students import DistillRun
from softquery.running.adapter import Prepared, TaskAdapter

MORE = ("bleu", "perplexity", "repeats_rightly", "ranked_first")
"""Further metrics that a card shows where they were measured."""


def task_card(
    prepared: Prepared, adapter: TaskAdapter, metrics: Mapping[str, Any], *, name: str
) -> str:
    """The card of a model of a task."""
    run, rows = prepared.run, prepared.rows
    shared = metrics["training"]["dev_rows_in_train"]
    return _card(
        run,
        metrics,
        name=name,
        kind=adapter.kind,
        languages=_languages(run),
        data=[("train", len(rows["train"]), ""), ("held back to tune by", len(rows["tune"]), "")],
        facts={f"dev {adapter.noun} that also stand in train": shared, **_changed(prepared)},
        numbers=_numbers(prepared.task.steers_by, metrics["dev"]),
        limit="Measured on one dev set only; no limits have been probed.",
        warnings=metrics["training"]["warnings"],
    )


def _changed(prepared: Prepared) -> dict[str, str]:
    """The settings that were fitted to the data, where there are any."""
    changed = [each for each in prepared.fit.found if each.is_changed]
    shown = ", ".join(f"{each.setting}={each.value:g}" for each in changed)
    return {"fitted to the data": shown} if shown else {}


def bert_card(run: BertRun, metrics: Mapping[str, Any], *, name: str) -> str:
    """The card of a pretrained BERT."""
    dev = metrics["dev"]
    measured = ("perplexity", "lm_accuracy", "mlm_loss", "mlm_accuracy", "nsp_accuracy")
    shown = [metric for metric in measured if metric in dev]
    left = run.is_left_to_right
    hidden = "nothing: every next piece is predicted"
    only = (
        "it goes on from a text, and knows no instructions"
        if left
        else "it answers no question until a task has been learnt on top of it"
    )
    return _card(
        run,
        metrics,
        name=name,
        kind="language-model" if left else "encoder",
        languages=[],
        data=[("train", metrics["training"]["pieces"], "pieces")],
        facts={
            "vocabulary": run.model.vocab_size,
            "hidden": hidden if left else f"{run.masking.share:.0%} of the {run.masking.unit}",
            "length of a sequence": f"{run.data.length}, at the end {run.data.long_length}",
        },
        numbers=[_number(metric, dev, "valid") for metric in shown],
        limit=f"Pretrained only: {only}; no other limit has been probed.",
    )


def elmo_card(run: ElmoRun, metrics: Mapping[str, Any], *, name: str) -> str:
    """The card of a pretrained biLM."""
    dev = metrics["dev"]
    shown = ("perplexity_forwards", "perplexity_backwards")
    return _card(
        run,
        metrics,
        name=name,
        kind="embedder",
        languages=_languages(run),
        data=[("train", metrics["training"]["words"], "words")],
        facts={
            "words that are predicted": dev["vocabulary"],
            "clips": "as published" if run.model.way == "exact" else "none",
        },
        numbers=[_number(metric, dev, "valid") for metric in shown],
        limit="Perplexity is over the vocabulary above, with <unk> as one word of it "
        f"({dev['unknown_share']:.2%} of the words of valid); no other limit has been probed.",
    )


def distill_card(run: DistillRun, metrics: Mapping[str, Any], *, name: str, num_pieces: int) -> str:
    """The card of a student with so many sub-words."""
    training, tune = metrics["training"], metrics["tune"]
    return _card(
        run,
        metrics,
        name=name,
        kind="sentence-encoder",
        languages=[],
        data=[
            ("texts without labels", training["texts"], ""),
            *([("pairs that mean the same", training["pairs"], "")] if training["pairs"] else []),
        ],
        facts={"teacher": training["teacher"], "sub-words": num_pieces},
        numbers=[_number(metric, tune, "held back") for metric in ("cosine", "likeness")],
        limit="Measured by how near it is to its teacher on texts that were held back; what the "
        "teacher cannot do, it cannot do either. No other limit has been probed.",
    )


def pair_distill_card(
    run: Run, files: Sequence[tuple[str, int, int]], metrics: Mapping[str, Any], *, name: str
) -> str:
    """The card of a matcher that learnt a teacher's opinion of pairs.

    Args:
        run: The student's.
        files: The name, the rows and the labelled rows of each file of pairs.
        metrics: As the bundle has them.
        name: Of the bundle.
    """
    training, tune = metrics["training"], metrics["tune"]
    numbers = [_number(metric, tune, "held back") for metric in ("correlation", "agreement")]
    if "gold_accuracy" in tune:
        labelled = {**tune, "n": tune["gold_n"]}
        numbers.append(_number("gold_accuracy", labelled, "held back, with a label"))
    return _card(
        run,
        metrics,
        name=name,
        kind="matcher",
        languages=_languages(run),
        data=[
            (file, rows, f"pairs, {gold:,} with a label" if gold else "pairs without labels")
            for file, rows, gold in files
        ],
        facts={
            "teacher": training["teacher"],
            "labels": ", ".join(getattr(run.task, "labels", ())) or "a grade",
            "pairs that were learnt": training["pairs"],
            "pairs with a label among them": training["gold_pairs"],
        },
        numbers=numbers,
        limit="Measured by how near it is to its teacher on pairs that were held back; what the "
        "teacher cannot do, it cannot do either. No other limit has been probed.",
    )


def _card(
    run: AnyRun | DistillRun,
    metrics: Mapping[str, Any],
    *,
    name: str,
    kind: str,
    languages: list[str],
    data: Sequence[tuple[str, int, str]],
    facts: Mapping[str, Any],
    numbers: list[CardNumber],
    limit: str,
    warnings: Sequence[str] = (),
) -> str:
    """The card as Markdown. Licence and limits are the user's to state, and the card says so."""
    training = metrics["training"]
    card = Card(
        name=name,
        purpose=f"{run.summary}.",
        languages=languages,
        licence="unstated",
        data=[
            CardData(name=part, rows=rows, licence="unstated", note=note)
            for part, rows, note in data
        ],
        training={
            "recipe": run.name,
            **_encoder(run),
            "seed": training["seed"],
            "epochs": training["epochs"],
            "best epoch": training["best_epoch"],
            "steps": training["steps"],
            "seconds": training["seconds"],
            **facts,
        },
        numbers=numbers,
        limits=[limit, *(f"Warned while training: {each}." for each in warnings)],
    )
    return make_card(card, kind=kind)


def _encoder(run: AnyRun | DistillRun) -> dict[str, str]:
    """The pretrained encoder under a head, where there is one."""
    if not isinstance(run, Run) or run.bert is None or not run.bert.bundle:
        return {}
    return {"encoder": f"{Path(run.bert.bundle).name}, {run.bert.weights} weights"}


def _numbers(metric: str, dev: Mapping[str, Any]) -> list[CardNumber]:
    """The metric on dev; nothing where it is undefined, as with grades that are all alike."""
    names = dict.fromkeys([metric, *(name for name in MORE if name in dev)])
    return [_number(name, dev, "dev") for name in names if dev[name] is not None]


def _number(metric: str, found: Mapping[str, Any], data: str) -> CardNumber:
    bounds = found.get(f"{metric}_interval")
    interval = (bounds[0], bounds[1]) if bounds and None not in bounds else None
    return CardNumber(
        metric=metric, value=found[metric], n=found["n"], data=data, interval=interval
    )


def _languages(run: Run | ElmoRun) -> list[str]:
    """Those that the run names; otherwise what its unit of text suggests."""
    settings = run.settings if isinstance(run, Run) else None
    if isinstance(settings, GenerateSettings) and settings.languages:
        return list(settings.languages)
    return ["zh" if run.text.unit in ("characters", "jieba") else "en"]
