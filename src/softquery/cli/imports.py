"""`softquery import`: other people's models as bundles."""

from pathlib import Path
from typing import Annotated

import typer

from softquery.cli.console import print_json, print_table

app = typer.Typer(
    help="Make a bundle of what another tool has trained.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options() -> None:
    """Make a bundle of what another tool has trained."""


@app.command()
def vectors(
    file: Annotated[Path, typer.Argument(help="Vectors of GloVe or word2vec, text or binary.")],
    output: Annotated[Path, typer.Option(help="The bundle to write.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Word vectors of GloVe, word2vec or fastText's .vec files."""
    from softquery.bundle import read_bundle
    from softquery.runtime.vector_files import import_vectors

    bundle = import_vectors(file, output)
    metrics = read_bundle(bundle).metrics
    if as_json:
        print_json({"bundle": str(bundle), **metrics})
    else:
        print_table(str(bundle), ("imported", ""), list(metrics.items()))
