"""`softquery import`: other people's weights as bundles."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from softquery.cli.console import print_json, print_table
from softquery.cli.export import require_onnx
from softquery.errors import InputError

imports = typer.Typer(
    help="Write other people's weights as a bundle.", no_args_is_help=True, add_completion=False
)


@imports.callback()
def group() -> None:
    """Write other people's weights as a bundle."""


@imports.command()
def elmo(
    weights: Annotated[Path, typer.Option(help="The published weights, an HDF5 file.")],
    options: Annotated[Path, typer.Option(help="The options that go with them, a JSON file.")],
    output: Annotated[Path, typer.Option(help="The bundle to write.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """A published ELMo of any size; it embeds words, and `train elmo --init` adapts it."""
    from softquery.bundle import read_bundle
    from softquery.export import export_embedder
    from softquery.interop import import_elmo

    if output.exists():
        raise InputError("already exists; name another --output", source=output)
    require_onnx("hdf5", needed_for="importing published weights")
    with TemporaryDirectory() as scratch:
        bundle = read_bundle(import_elmo(weights, options, Path(scratch) / output.name))
        export_embedder(bundle, output)
    settings = bundle.config.model["config"]
    facts: dict[str, object] = {
        "layers": settings["num_layers"] + 1,
        "width of a vector": 2 * settings["projection_size"],
        "width of a cell": settings["hidden_size"],
    }
    if as_json:
        print_json({"bundle": str(output), **settings})
    else:
        print_table(str(output), ("elmo", ""), list(facts.items()))
