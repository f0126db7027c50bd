"""`softquery models`."""

from dataclasses import asdict
from typing import Annotated

import typer

from softquery.cli.terminal.console import print_json, print_table, print_text
from softquery.cli.terminal.shared_options import AsJson


def models(
    name: Annotated[
        str | None, typer.Argument(help="Show this model's card: a name, or a folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List shipped and local models, or show one model's card."""
    from softquery.zoo import local, local_folder, resolve, shipped

    if name is not None:
        _show_card(str(resolve(name)), as_json)
        return
    entries = [*shipped(), *local()]
    if as_json:
        print_json([{**asdict(entry), "path": str(entry.path)} for entry in entries])
        return
    if not entries:
        print_text("no models are shipped with this version, and none are local")
        print_text(f"local models lie in {local_folder()}; a bundle's folder works wherever it is")
        return
    columns = ("name", "what it is for", "model, size, licence")
    for origin in dict.fromkeys(entry.origin for entry in entries):
        rows = [
            (
                entry.name,
                entry.problem or entry.summary,
                f"{entry.model}, {entry.size_bytes / 1e6:.1f} MB\n{entry.licence}",
            )
            for entry in entries
            if entry.origin == origin
        ]
        print_table(origin, columns, rows)


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
        print_text(bundle.card)
