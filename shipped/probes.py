"""Ask a model what is easy to get wrong, kind by kind, without torch.

    python shipped/probes.py MODEL [--probes shipped/probes/match-en.tsv] [--json]

A file of probes has the columns sentence1, sentence2, label and kind. Which pairs were answered
wrongly is told by

    softquery evaluate MODEL --data shipped/probes/match-en.tsv --slice kind --errors mistakes.tsv
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from draw_probes import COLUMNS, FOLDER
from numpy.typing import NDArray

import softquery
from softquery.cli.terminal.console import print_json, print_table
from softquery.errors import InputError, SoftqueryError
from softquery.files import Row, read_rows
from softquery.measure import mean_interval
from softquery.runtime import Matcher, evaluate

SURE = 0.9
"""A wrong answer with a higher probability than this misleads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """How many of some probes were answered rightly."""

    n: int
    right: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeResult:
    """How a model did on one kind of probe."""

    kind: str
    n: int
    accuracy: float
    interval: tuple[float, float]
    """95 %, by bootstrap."""
    labels: dict[str, Tally]
    """By gold label: a model that always says the same is seen here."""
    wrong: int
    wrong_and_sure: int
    """Wrong answers with a probability above `SURE`."""
    cut: int
    """Pairs of which the model did not read the end."""

    @property
    def sure_share(self) -> float | None:
        """The share of wrong answers that were given with confidence; None without any."""
        return self.wrong_and_sure / self.wrong if self.wrong else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the kind."""
        plain = {**asdict(self), "interval": list(self.interval), "sure_share": self.sure_share}
        del plain["kind"]
        return plain


def read_probes(path: Path) -> list[Row]:
    """The rows of a file of probes."""
    rows = list(read_rows(path, columns=COLUMNS))
    if not rows:
        raise InputError("holds no probes", source=path)
    return rows


def run_probes(matcher: Matcher, rows: Sequence[Row]) -> list[ProbeResult]:
    """Answer all probes and count by kind, in the order of the file."""
    answered = evaluate(matcher, rows)
    chosen = matcher.decide(answered.probabilities)
    confidence = answered.probabilities[np.arange(len(rows)), chosen]
    right = chosen == answered.gold
    kinds = np.array([row.values["kind"] for row in rows])
    gold = np.array([row.values["label"] for row in rows])
    cut = np.array([matcher.num_cut(list(_pair(row))) > 0 for row in rows])
    return [
        tally_kind(kind, *(column[kinds == kind] for column in (gold, right, confidence, cut)))
        for kind in dict.fromkeys(kinds.tolist())
    ]


def tally_kind(
    kind: str,
    gold: NDArray[np.str_],
    right: NDArray[np.bool_],
    confidence: NDArray[np.float64],
    cut: NDArray[np.bool_],
) -> ProbeResult:
    """Count the probes of one kind.

    Args:
        kind: Its name.
        gold: The right label of each probe.
        right: Whether it was answered.
        confidence: The probability of the answer that was given.
        cut: Whether the model did not read all of it.
    """
    bounds = mean_interval(right.astype(np.float64))
    return ProbeResult(
        kind=kind,
        n=len(right),
        accuracy=float(right.mean()),
        interval=(bounds.low, bounds.high),
        labels={
            label: Tally(n=int((gold == label).sum()), right=int(right[gold == label].sum()))
            for label in sorted(set(gold.tolist()))
        },
        wrong=int((~right).sum()),
        wrong_and_sure=int((~right & (confidence > SURE)).sum()),
        cut=int(cut.sum()),
    )


def _pair(row: Row) -> tuple[str, str]:
    return row.values["sentence1"], row.values["sentence2"]


def show(results: Sequence[ProbeResult], title: str) -> None:
    """A table for people."""
    columns = ("kind", "n", "accuracy", "95 % interval", "right by label", "wrong", "of them sure")
    rows = [
        (
            each.kind,
            each.n,
            each.accuracy,
            f"{each.interval[0]:.3f} to {each.interval[1]:.3f}",
            ", ".join(f"{label}: {part.right}/{part.n}" for label, part in each.labels.items()),
            each.wrong,
            "" if each.sure_share is None else f"{each.sure_share:.0%}",
        )
        for each in results
    ]
    print_table(title, columns, rows)


def default_probes(model: str) -> Path:
    """The file of probes that goes by the model's name."""
    path = FOLDER / f"{Path(model).name}.tsv"
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in FOLDER.glob("*.tsv")))
        raise InputError(
            f"no probes go by this name ({known}); name a file with --probes", source=model
        )
    return path


def main() -> int:
    """Parse, ask and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", help="a name, or a bundle's folder")
    parser.add_argument("--probes", type=Path, help="by default those of the model's name")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        rows = read_probes(options.probes or default_probes(options.model))
        results = run_probes(softquery.load(options.model, threads=options.threads), rows)
    except SoftqueryError as error:
        print(f"probes: {error}", file=sys.stderr)
        return 2
    if options.json:
        print_json({each.kind: each.to_dict() for each in results})
    else:
        show(results, f"{options.model}, {len(rows)} probes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
