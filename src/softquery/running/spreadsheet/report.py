"""The report of a run on a file: what was found, learnt and measured, as JSON and as a page."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from softquery import __version__
from softquery.atomic import write_text
from softquery.bundle.config import REPORT, REPORT_PAGE, to_json
from softquery.running.spreadsheet.labelled_rows import LabelledTable, num_repeated
from softquery.running.spreadsheet.report_page import report_page
from softquery.running.spreadsheet.sheet_options import Trained

Report = dict[str, Any]


def make_report(task: str, name: str, table: LabelledTable, trained: Trained) -> Report:
    """Everything that the page shows, as plain values.

    Args:
        task: `"classify"` or `"match"`.
        name: Of the model.
        table: The rows of the file.
        trained: The model, and what it answered to rows that were held out.
    """
    held, labels = trained.held, trained.labels
    counts = Counter(row.values["label"] for row in table.rows)
    inputs = [each.ours for each in table.columns[:-1]]
    gold = Counter(held.gold.tolist())
    return {
        "softquery": __version__,
        "task": task,
        "name": name,
        "file": table.source,
        "columns": [
            {"ours": each.ours, "theirs": each.theirs, "why": each.why} for each in table.columns
        ],
        "found": list(table.told),
        "rows": len(table.rows),
        "repeated_rows": num_repeated(table),
        "labels": dict(counts.most_common()),
        "learned_by": trained.learned_by,
        "facts": dict(trained.facts),
        "held_out": held.how,
        "figures": held.figures(labels),
        "most_frequent_label": max(gold.values()) / max(1, gold.total()),
        "by_class": held.by_class(labels),
        "calibration": held.bins(),
        "by_length": held.slices(inputs),
        "curves": trained.curves,
        "by_rows": trained.growth,
        "tried": trained.tried,
        "warnings": [*table.warnings, *trained.warnings],
        "mistakes": held.mistakes(labels),
        "suspects": held.suspects(labels),
    }


def write_report(folder: Path, report: Report) -> None:
    """Write both forms beside the model."""
    write_text(folder / REPORT, to_json(json.loads(json.dumps(report, default=str))))
    write_text(folder / REPORT_PAGE, report_page(report))
