"""The card of a shipped matcher: every figure with its rows, every limit as a sentence."""

from collections.abc import Sequence
from typing import Any

from facts import Facts
from probes import SURE, ProbeResult
from runs import SeedRun, without_paths

from softquery.bundle import Card, CardNumber

KINDS = {
    "negation": "Negation",
    "antonym": "Antonyms and synonyms",
    "number": "Numbers, units and dates",
    "order": "Word order (who did what to whom)",
    "name": "Names of people, places and firms",
    "length": "Long texts of many clauses",
    "paraphrase": "Plain rewordings",
    "unrelated": "Unrelated sentences",
    "unstated": "What the first sentence leaves open",
}
MISSED, OFTEN_MISSED = 0.5, 0.8
"""Shares of right answers to one label under which a limit is called one."""
ABOUT_ERRORS = (
    "Calibration errors (ECE) of few rows are never 0: beside each stands what a model would show "
    "by chance alone whose probabilities are true."
)
ABOUT_PROBES = (
    "Probes are sentences made from templates for this purpose: they show what fails, not how "
    "often it occurs in real text. Their numbers follow."
)


def matcher_card(
    facts: Facts, metrics: dict[str, Any], run: SeedRun, probes: Sequence[ProbeResult]
) -> Card:
    """The facts of the card, from what was measured and what is known of the data."""
    return Card(
        name=facts.name,
        purpose=facts.purpose,
        languages=facts.languages,
        licence=facts.licence,
        data=facts.card_data(),
        training={**training_lines(metrics, run), **facts.training},
        numbers=number_lines(metrics),
        limits=[
            facts.scope,
            *_cut_lines(run),
            *_weakest_lines(metrics),
            *_order_lines(metrics),
            ABOUT_ERRORS,
            *facts.limits,
            ABOUT_PROBES,
            *(probe_line(each) for each in probes),
        ],
    )


def training_lines(metrics: dict[str, Any], run: SeedRun) -> dict[str, object]:
    """The recipe, its seeds and how the shipped one was chosen."""
    settings, seeds = without_paths(run.settings), metrics["seeds"]
    model = run.bundle.config.model["config"]
    figures = ", ".join(f"{seed}: {each['tune']:.4f}" for seed, each in seeds["runs"].items())
    known = metrics.get("training", {})
    text = run.bundle.config.text
    lines: dict[str, object] = {
        "recipe": settings.get("name", "unknown"),
        "model": f"{run.bundle.config.model['name']}, hidden {model.get('hidden_size')}, "
        f"embeddings {model.get('embedding_size')}, {model.get('vocab_size'):,} {text.get('unit')}",
        "pretrained vectors": ", ".join(settings.get("vectors", [])) or "none",
        "seeds": ", ".join(seeds["runs"]),
        "shipped seed": f"{seeds['shipped']}, the best on {seeds['tune_n']:,} held-back training "
        f"pairs (accuracy by seed: {figures}); never chosen by dev",
        "epochs": known.get("epochs"),
        "best epoch": known.get("best_epoch"),
        "steps": known.get("steps"),
        "seconds": known.get("seconds"),
        "dev pairs that also stand in train": known.get("dev_rows_in_train"),
        "stored as": f"{metrics['export']['precision']}, {metrics['int8']['size_mb']:.1f} MB",
        "all settings": f"training/run.json (seed {seeds['shipped']})",
    }
    return {key: value for key, value in lines.items() if value is not None}


def number_lines(metrics: dict[str, Any]) -> list[CardNumber]:
    """Figures of every set over the seeds, then of the shipped model as it answers."""
    sources = metrics["sources"]
    numbers = [_seeds_number(name, part) for name, part in sources.items()]
    for key, where in (("shipped", "dev"), ("second_half", "dev, second half")):
        numbers += [
            _shipped_number(f"{name} {where}", part[key], metrics["export"]["precision"])
            for name, part in sources.items()
        ]
    numbers += _int8_numbers(metrics)
    return numbers + [_error_number(name, part) for name, part in sources.items()]


def _seeds_number(name: str, part: dict[str, Any]) -> CardNumber:
    seeds = part["seeds"]
    span = f"{seeds['min']:.4f} to {seeds['max']:.4f}"
    return CardNumber(
        metric=f"accuracy, float32, mean of {len(seeds['runs'])} seeds ({span})",
        value=seeds["mean"],
        n=part["n"],
        data=f"{name} dev",
    )


def _shipped_number(data: str, found: dict[str, Any], precision: str) -> CardNumber:
    return CardNumber(
        metric=f"accuracy, as shipped ({precision})",
        value=found["accuracy"],
        n=found["n"],
        data=data,
        interval=(found["interval"][0], found["interval"][1]),
    )


def _int8_numbers(metrics: dict[str, Any]) -> list[CardNumber]:
    gate = metrics["int8"]
    if metrics["export"]["precision"] != "int8":
        return []
    lost = [
        (part["int8_lost_points"], part["n"], f"{name} dev")
        for name, part in metrics["sources"].items()
    ]
    lost.append((gate["lost_points"], gate["n"], "all sets, second halves"))
    return [
        CardNumber(metric="points of accuracy lost to int8", value=value, n=n, data=data)
        for value, n, data in lost
    ]


def _error_number(name: str, part: dict[str, Any]) -> CardNumber:
    notes = f"before: {part['ece_before']:.4f}; chance alone: {part['ece_by_chance']:.4f}"
    return CardNumber(
        metric=f"ECE, 15 bins of equal mass, calibrated ({notes})",
        value=part["ece_after"],
        n=part["second_half"]["n"],
        data=f"{name} dev, second half",
    )


def probe_line(result: ProbeResult) -> str:
    """One kind of probe as a sentence, with a warning where a label is missed."""
    low, high = (100 * bound for bound in result.interval)
    labels = "; ".join(
        f"label {label}: {part.right} of {part.n}" for label, part in result.labels.items()
    )
    line = f"{KINDS.get(result.kind, result.kind)}: {100 * result.accuracy:.0f} % of {result.n} "
    line += f"right (95 % interval {low:.0f} to {high:.0f}; {labels})"
    if result.wrong:
        line += f"; {result.wrong_and_sure} of the {result.wrong} wrong answers had a probability "
        line += f"above {SURE}"
    if result.cut:
        line += f"; {result.cut} pairs were cut"
    worst, share = min(
        ((label, part.right / part.n) for label, part in result.labels.items()),
        key=lambda each: each[1],
    )
    if share < MISSED:
        return f"{line}. **Do not rely on it here**: most pairs with label {worst} are missed."
    if share < OFTEN_MISSED:
        return f"{line}. Check it on your own text: pairs with label {worst} are often missed."
    return f"{line}."


def _cut_lines(run: SeedRun) -> list[str]:
    text = run.bundle.config.text
    longest, unit = text.get("max_tokens"), text.get("unit", "words")
    return [f"Reads at most {longest:,} {unit} of a text; the rest is cut."] if longest else []


def _weakest_lines(metrics: dict[str, Any]) -> list[str]:
    shown = {name: part["shipped"]["accuracy"] for name, part in metrics["sources"].items()}
    if len(shown) < 2:
        return []
    weak = min(shown, key=lambda name: shown[name])
    best = max(shown, key=lambda name: shown[name])
    return [
        f"Text matters: accuracy is {100 * shown[best]:.1f} % on {best} but "
        f"{100 * shown[weak]:.1f} % on {weak}."
    ]


def _order_lines(metrics: dict[str, Any]) -> list[str]:
    order = metrics.get("order")
    if order is None:
        return []
    return [
        f"Changing the order of the two sentences changes the label of "
        f"{100 - 100 * order['same_label']:.1f} % of {order['n']:,} dev pairs."
    ]
