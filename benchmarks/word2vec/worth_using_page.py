"""The tables of `worth_using.json` as Markdown, one column for each model.

    python benchmarks word2vec worth_using_page

A test holds the page against what this prints.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Rows = list[dict[str, Any]]


def read() -> Rows:
    """What was measured, one row for each model."""
    rows: Rows = json.loads((HERE / "worth_using.json").read_text(encoding="utf-8"))
    return rows


def files(rows: Rows, part: str) -> list[str]:
    """The tests that any model was put to and that have such a part, in order."""
    found = [
        name
        for row in rows
        for name, facts in row.items()
        if isinstance(facts, dict) and part in facts
    ]
    return list(dict.fromkeys(found))


def cell(row: dict[str, Any], *, interval: bool) -> str:
    told = f"{100 * row['right'] / row['n']:.1f}"
    if interval:
        told += f" ({row['interval'][0]:.1f} to {row['interval'][1]:.1f})"
    return told


def lines(first: str, names: Sequence[str], body: Iterator[list[str]]) -> str:
    head = [f"| {first} | questions | {' | '.join(names)} |", f"|---|---|{'---|' * len(names)}"]
    return "\n".join([*head, *(f"| {' | '.join(cells)} |" for cells in body)])


def analogies(rows: Rows, file: str, part: str) -> str:
    """A table of accuracies: by section (`rows`), or by how rare the words are (`by_rank`)."""
    some = [row for row in rows if file in row]

    def body() -> Iterator[list[str]]:
        for place, each in enumerate(some[0][file][part]):
            same = [row[file][part][place] for row in some]
            bound = each.get("rarest_word_below")
            name = each["name"] if bound is None else f"rarest word below rank {bound:,}"
            whole = each["name"] in ("semantic", "syntactic", "all")
            yield [name, f"{each['n']:,}", *(cell(one, interval=whole) for one in same)]

    return lines(f"`{file}`", [row["name"] for row in some], body())


def graded(rows: Rows, file: str) -> str:
    """One line: Spearman's correlation with people's grades."""
    some = [row for row in rows if file in row]
    pairs = some[0][file]["n"]
    cells = ", ".join(f"{row['name']} {row[file]['spearman']:.1f}" for row in some)
    return f"`{file}`, {pairs} pairs: {cells}."


def parallels(rows: Rows) -> str:
    """How parallel two differences are, beside what chance gives."""
    found = ["| | cosine | 95 % of chance below |", "|---|---|---|"]
    for row in rows:
        for each in row.get("parallel", {}).get("offsets", ()):
            first, second, third, fourth = each["words"].split()
            told = f"{first} − {second}, {third} − {fourth}"
            cosine = f"{each['cosine']:.2f}".replace("-", "−")
            found.append(f"| {told} ({row['name']}) | {cosine} | {each['chance']:.2f} |")
    return "\n".join(found)


def main() -> None:
    rows = read()
    for file in files(rows, "rows"):
        print(analogies(rows, file, "rows"), analogies(rows, file, "by_rank"), sep="\n\n")
        print()
    for file in files(rows, "spearman"):
        print(graded(rows, file))
    print()
    print(parallels(rows))


if __name__ == "__main__":
    main()
