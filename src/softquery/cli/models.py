"""`softquery models`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated
from unicodedata import category

import typer

from softquery.cli.terminal.console import note, one_line, print_json, print_table, print_text
from softquery.cli.terminal.shared_options import AsJson

if TYPE_CHECKING:
    from softquery.zoo import ZooEntry


def models(
    name: Annotated[
        str | None, typer.Argument(help="Show this model's card: a name, or a folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List all models with where they come from, or show one model's card."""
    from softquery.zoo import entries, find_packages, resolve

    if name is not None:
        _show_card(str(resolve(name)), as_json)
        return
    listed = entries()
    if as_json:
        print_json([{**asdict(entry), "path": str(entry.path)} for entry in listed])
    else:
        _show_tables(listed)
    for problem in find_packages().problems:
        note(one_line(problem))


def _show_tables(listed: "list[ZooEntry]") -> None:
    """A table for each place that models come from, and how to get those that are missing."""
    from softquery.zoo import MODELS_PACKAGE, absent, local_folder

    places: dict[str, list[tuple[str, ...]]] = {}
    for entry in listed:
        title = entry.package or f"local, in {local_folder()}"
        places.setdefault(title, []).append(_row(entry))
    for title, rows in places.items():
        print_table(title, ("name", "what it is for", "model, size, licence"), rows)
    missing = absent()
    if missing:
        print_text(f"not installed (pip install {MODELS_PACKAGE}): {', '.join(missing)}")


def _row(entry: "ZooEntry") -> tuple[str, ...]:
    """What the table shows, without characters of somebody else's card that a terminal obeys."""
    facts = one_line(f"{entry.model}, {entry.size_bytes / 1e6:.1f} MB")
    return (
        one_line(entry.name),
        one_line(entry.problem or entry.summary),
        facts + "\n" + one_line(entry.licence),
    )


def _show_card(folder: str, as_json: bool) -> None:
    from softquery.bundle import read_bundle

    bundle = read_bundle(folder)
    if as_json:
        print_json(
            {
                "path": str(bundle.path),
                "config": bundle.config.to_dict(),
                "metrics": bundle.metrics,
                "calibration": bundle.calibration,
                "card": bundle.card,
            }
        )
    else:
        print_text(_escaped(bundle.card))


def _escaped(card: str) -> str:
    """A card without the characters that a terminal obeys, line ends and tabs aside."""
    return "".join(
        mark if mark in "\n\t" or category(mark) != "Cc" else mark.encode("unicode_escape").decode()
        for mark in card.replace("\r\n", "\n")
    )
