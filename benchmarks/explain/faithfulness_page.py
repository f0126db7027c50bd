"""Put the tables into the page, from what `faithfulness` measured.

python benchmarks explain faithfulness_page faithfulness.json
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("README.md")
METHODS = {
    "reasons": "reasons",
    "contributions": "contributions",
    "attention": "attention",
    "random": "random words",
}


def figure(values: list[float], digits: int = 2) -> str:
    """A mean with its interval.

    >>> figure([1.234, 1.1, 1.4])
    '1.23 (1.10 to 1.40)'
    """
    mean, low, high = (f"{each:.{digits}f}" for each in values)
    return f"{mean} ({low} to {high})"


def moved(sets: Mapping[str, Any]) -> Iterator[str]:
    """How far the answer moves without the words that each method names."""
    counts = sorted({each["words"] for some in sets.values() for each in some["figures"]})
    yield "| set, model | words by | " + " | ".join(f"without {n}" for n in counts) + " |"
    yield "| --- | --- |" + " --- |" * len(counts)
    for name, some in sets.items():
        for method, title in METHODS.items():
            found = [each for each in some["figures"] if each["method"] == method]
            if found:
                cells = " | ".join(figure(each["log_odds"]) for each in found)
                yield f"| {name}, `{some['model']}` | {title} | {cells} |"


def above(sets: Mapping[str, Any]) -> Iterator[str]:
    """By how much reasons are above the others, row by row."""
    counts = sorted({each["words"] for some in sets.values() for each in some["figures"]})
    yield "| set | reasons above | " + " | ".join(f"without {n}" for n in counts) + " |"
    yield "| --- | --- |" + " --- |" * len(counts)
    for name, some in sets.items():
        for method, title in METHODS.items():
            found = [each for each in some["figures"] if each["method"] == method]
            if found and method != "reasons":
                cells = " | ".join(figure(each["log_odds_of_reasons_above"]) for each in found)
                yield f"| {name} | {title} | {cells} |"


def kept(sets: Mapping[str, Any], count: int = 3) -> Iterator[str]:
    """What becomes of the answer without some words, and with them alone."""
    yield (
        f"| set | words by | another answer without {count} | its probability falls by | with "
        f"{count} alone it falls by | seeds |"
    )
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, some in sets.items():
        for each in some["figures"]:
            if each["words"] == count:
                seeds = ", ".join(f"{value:.2f}" for value in each["log_odds_by_seed"])
                changed = f"{each['changed'][0]:.0%}"
                yield (
                    f"| {name} | {METHODS[each['method']]} | {changed} | "
                    f"{figure(each['probability'])} | {figure(each['alone'])} | {seeds} |"
                )


def tables(measured: Mapping[str, Any]) -> dict[str, str]:
    """Every table of the page, by the mark that it stands below."""
    sets = measured["sets"]
    made = {"moved": moved(sets), "above": above(sets), "kept": kept(sets)}
    return {name: "\n".join(lines) for name, lines in made.items()}


def with_tables(page: str, made: Mapping[str, str]) -> str:
    r"""The page with each table between its marks.

    >>> with_tables("<!-- a -->\n\nold\n\n<!-- end -->", {"a": "new"})
    '<!-- a -->\n\nnew\n\n<!-- end -->'
    """
    for name, table in made.items():
        before, mark, rest = page.partition(f"<!-- {name} -->\n\n")
        _, end, after = rest.partition("\n\n<!-- end -->")
        if not (mark and end):
            raise ValueError(f"the page has no place for the table {name!r}")
        page = f"{before}{mark}{table}{end}{after}"
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("measured", type=Path)
    made = tables(json.loads(parser.parse_args().measured.read_text(encoding="utf-8")))
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
