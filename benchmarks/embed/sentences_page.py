"""The tables of `sentences.md`, from the raw figures.

    python benchmarks embed sentences_page

Puts each table between its marks on the page, `<!-- quality -->` and `<!-- end -->` for one.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.embed.sentence_sets import APART, COUNTED, PAIRS, Language

HERE = Path(__file__).parent
PAGE = HERE / "sentences.md"
TITLES = {
    "mpnet": "all-mpnet-base-v2",
    "minilm": "MiniLM-L6, our import",
    "minilm-torch": "MiniLM-L6, PyTorch",
    "minilm-int8": "MiniLM-L6, our import, int8",
    "pypi-int8": "MiniLM-L6, int8 from PyPI",
    "optimised-int8": "MiniLM-L6, ORT optimiser, int8",
    "table": "static table of MiniLM",
    "table-int8": "static table of MiniLM, int8",
    "simbert": "SimBERT-tiny",
    "bm25": "BM25",
}
"""What a name of the raw figures means; others stand for themselves."""
NONE = "–"


def read(name: str) -> dict[str, Any]:
    """Raw figures that lie beside the page; nothing where there are none."""
    path = HERE / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def points(share: float | None) -> str:
    """A share in points.

    >>> points(0.86712), points(None)
    ('86.71', '–')
    """
    return NONE if share is None else f"{100 * share:.2f}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, or a word where it has no rows."""
    if not rows:
        return "Not measured yet."
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def by_width(report: dict[str, Any]) -> list[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Name, width, what the model is, and its figures."""
    return [
        (name, width, model, figures)
        for name, model in report.get("models", {}).items()
        for width, figures in model["widths"].items()
    ]


def title(name: str, width: str, model: dict[str, Any]) -> str:
    """What a row is called; a prefix says how long it is."""
    whole = next(iter(model["widths"]))
    return TITLES.get(name, name) + ("" if width == whole else f", first {width}")


def megabytes(size: int | None) -> str:
    return NONE if size is None else f"{size / 1e6:.1f}"


def quality_table(language: Language, report: dict[str, Any]) -> str:
    """Pairs, first answers and the mean of each model, the best first."""
    scores = PAIRS[language]
    means = {"first answers": "first_answers", "mean": "mean"} if COUNTED[language] else {}
    head = ["", "MB", "million parameters", "width", *scores, *means]
    rows = []
    for name, width, model, figures in by_width(report):
        found = [figures["pairs"].get(each, {}).get(metric) for each, metric in scores.items()]
        mean = [figures["means"][key] for key in means.values()]
        count = model["parameters"]
        row = [
            title(name, width, model),
            megabytes(model["size_bytes"]),
            NONE if count is None else f"{count / 1e6:.1f}",
            width,
            *map(points, found),
            *(NONE if each is None else f"{each:.2f}" for each in mean),
        ]
        rows.append((mean[-1] if mean and mean[-1] is not None else 0.0, row))
    return markdown(head, [row for _, row in sorted(rows, key=lambda each: -each[0])])


def intents_table(names: Sequence[str], report: dict[str, Any]) -> str:
    """First answers on each set, by whole vectors, and AUROC of what is out of scope."""
    whole = [row for row in by_width(report) if row[1] == next(iter(row[2]["widths"]))]
    head = ["set", "stored", "asked", *(title(name, w, model) for name, w, model, _ in whole)]
    rows = []
    for each in names:
        found = [figures["intents"].get(each) for *_, figures in whole]
        known = next((figures for figures in found if figures), None)
        if known is None:
            continue
        rows.append([each, f"{known['stored']:,}", f"{known['n']:,}", *map(intent_cell, found)])
    return markdown(head, rows)


def intent_cell(found: dict[str, Any] | None) -> str:
    """First answers in points; behind them AUROC, where there is something out of scope."""
    if found is None:
        return NONE
    beyond = found.get("out_of_scope_auc")
    return points(found["first_answer"]) + ("" if beyond is None else f" / {beyond:.3f}")


def speed_table(report: dict[str, Any]) -> str:
    """Times of each form, and how many times as fast as the fastest rival it is."""
    head = ["", "MB", "one text, ms", "×", "questions/s", "×", "sentences/s", "×", "start, s"]
    rows = []
    for name, row in report.get("rows", {}).items():
        times = report["times_the_fastest_rival"].get(name, {})
        ratio = [f"{times[scene]:.2f}" for scene in ("one", "questions", "sentences")]
        rows.append(
            [
                TITLES.get(name, name),
                megabytes(row.get("size_bytes")),
                f"{row['one_ms']:.3f}",
                ratio[0],
                f"{row['questions_per_s']:,.0f}",
                ratio[1],
                f"{row['sentences_per_s']:,.0f}",
                ratio[2],
                f"{row['start_s']:.2f}",
            ]
        )
    return markdown(head, rows)


def sets_table(report: dict[str, Any]) -> str:
    """How much of what each set stores is in `requests/`, and by which source."""
    rows = [
        [
            name,
            "yes" if told["counts"] else "no",
            points(told["share_in_requests"]),
            report["apart"].get(name, NONE),
        ]
        for name, told in report.get("sets", {}).items()
    ]
    return markdown(["set", "counts", "% of train in `requests/`", "shared source"], rows)


def tables() -> dict[str, str]:
    """Every table of the page by its mark."""
    english, chinese, speed = map(read, ("quality.json", "quality_zh.json", "speed.json"))
    made: dict[str, Callable[[], str]] = {
        "quality": lambda: quality_table("en", english),
        "intents": lambda: intents_table(COUNTED["en"], english),
        "apart": lambda: intents_table(tuple(APART["en"]), english),
        "sets": lambda: sets_table(english),
        "speed": lambda: speed_table(speed),
        "chinese": lambda: quality_table("zh", chinese),
        "chinese intents": lambda: intents_table(tuple(APART["zh"]), chinese),
    }
    return {name: make() for name, make in made.items()}


def with_tables(page: str, made: dict[str, str]) -> str:
    r"""The page with each table between its marks.

    >>> with_tables("<!-- a -->\nold\n<!-- end -->", {"a": "new"})
    '<!-- a -->\nnew\n<!-- end -->'
    """
    for name, table in made.items():
        marks = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        page = marks.sub(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", page)
    return page


def main() -> None:
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), tables()), encoding="utf-8")


if __name__ == "__main__":
    main()
