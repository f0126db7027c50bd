"""`softquery import`: what other tools have trained, as bundles."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from softquery.cli.export import require_onnx
from softquery.cli.terminal.console import print_json, print_table
from softquery.cli.terminal.shared_options import AsJson
from softquery.errors import InputError

imports = typer.Typer(
    help="Write what other tools have trained as a bundle.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Output = Annotated[Path, typer.Option(help="The bundle to write.")]


@imports.callback()
def group() -> None:
    """Write what other tools have trained as a bundle."""


@imports.command()
def elmo(
    weights: Annotated[Path, typer.Option(help="The published weights, an HDF5 file.")],
    options: Annotated[Path, typer.Option(help="The options that go with them, a JSON file.")],
    output: Output,
    as_json: AsJson = False,
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


@imports.command()
def bert(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A folder of transformers: config.json, model.safetensors, tokenizer.json or "
            "vocab.txt."
        ),
    ],
    output: Output,
    as_json: AsJson = False,
) -> None:
    """A BERT of any size; `train bert-base --init` goes on with it, on your own text."""
    from softquery.bundle import read_bundle
    from softquery.interop import import_bert

    if output.exists():
        raise InputError("already exists; name another --output", source=output)
    settings = read_bundle(import_bert(folder, output)).config.model["config"]
    facts: dict[str, object] = {
        "layers": settings["num_layers"],
        "width": settings["hidden_size"],
        "pieces": settings["vocab_size"],
        "positions": settings["max_length"],
        "heads that came along": settings["heads"],
    }
    if as_json:
        print_json({"bundle": str(output), **settings})
    else:
        print_table(str(output), ("bert", ""), list(facts.items()))


@imports.command()
def vectors(
    file: Annotated[Path, typer.Argument(help="Vectors of GloVe or word2vec, text or binary.")],
    output: Output,
    as_json: AsJson = False,
) -> None:
    """Word vectors of GloVe, word2vec or fastText's .vec files."""
    from softquery.bundle import read_bundle
    from softquery.runtime.vectors.convert import import_vectors

    metrics = read_bundle(import_vectors(file, output)).metrics
    if as_json:
        print_json({"bundle": str(output), **metrics})
    else:
        print_table(str(output), ("vectors", ""), list(metrics.items()))
