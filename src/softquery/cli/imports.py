"""`softquery import`: what other tools have trained, as bundles."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from softquery.cli.export import ExportWish, export_kind, require_onnx
from softquery.cli.terminal.bad_rows import BadRows
from softquery.cli.terminal.console import note, print_json, print_table
from softquery.cli.terminal.shared_options import AsJson, require_choice
from softquery.errors import InputError, counted

imports = typer.Typer(
    help="Convert what other tools have trained into a bundle.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Output = Annotated[Path, typer.Option(help="The bundle to write.")]


@imports.callback()
def group() -> None:
    """Convert what other tools have trained into a bundle."""


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
def cove(
    translator: Annotated[
        Path, typer.Argument(help="A bundle that `softquery train translate-cove` made.")
    ],
    output: Output,
    as_json: AsJson = False,
) -> None:
    """The encoder of a translator, which gives words vectors in context as an ELMo does."""
    from softquery.bundle import read_bundle
    from softquery.export import export_embedder
    from softquery.interop import import_cove

    if output.exists():
        raise InputError("already exists; name another --output", source=output)
    require_onnx(needed_for="importing an encoder")
    with TemporaryDirectory() as scratch:
        bundle = read_bundle(import_cove(translator, Path(scratch) / output.name))
        export_embedder(bundle, output)
    settings = bundle.config.model["config"]
    facts: dict[str, object] = {
        "words": settings["num_words"],
        "width of a vector": 2 * settings["projection_size"],
    }
    if as_json:
        print_json({"bundle": str(output), **settings})
    else:
        print_table(str(output), ("cove", ""), list(facts.items()))


@imports.command()
def bert(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A folder of transformers: config.json, model.safetensors, tokenizer.json or "
            "vocab.txt; or of Google: bert_config.json, bert_model.ckpt.*, vocab.txt."
        ),
    ],
    output: Output,
    pool: Annotated[
        str,
        typer.Option(
            help="Write a sentence encoder, whose vector of a text is the first token's state "
            "(cls), the largest values (max), the mean, or what the pooler makes of the first "
            "token (pooler)."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """A BERT of any size; `train bert-base --init` continues its training on your own text."""
    from softquery.bundle import read_bundle
    from softquery.interop import import_bert, import_pooled_bert
    from softquery.interop.sentence_modules import MODULES

    if output.exists():
        raise InputError("already exists; name another --output", source=output)
    if (folder / MODULES).exists():
        note(f"{folder / MODULES} is left out: for sentence vectors, with the pooling that it "
             "names, use softquery import sentence-transformers")  # fmt: skip
    if pool:
        _import_and_export(partial(import_pooled_bert, pool=pool), folder, output, as_json)
        return
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


@imports.command("sentence-transformers")
def sentence_transformers(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A folder of sentence-transformers, with a BERT or an MPNet inside: modules.json, "
            "model.safetensors; or a cross-encoder's."
        ),
    ],
    output: Output,
    as_json: AsJson = False,
) -> None:
    """An encoder with its pooling, which gives the same vectors; a cross-encoder with its head."""
    from softquery.interop import import_sentence_transformers

    _import_and_export(import_sentence_transformers, folder, output, as_json)


@imports.command()
def static(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A folder of model2vec: model.safetensors, tokenizer.json, config.json."
        ),
    ],
    output: Output,
    as_json: AsJson = False,
) -> None:
    """A table of sub-word vectors, whose mean is the vector of a text."""
    from softquery.interop import import_static

    _import_and_export(import_static, folder, output, as_json)


def _import_and_export(
    convert: Callable[[Path, Path], Path], folder: Path, output: Path, as_json: bool
) -> None:
    """Write what `convert` makes of a folder as a bundle with graphs, checked against torch."""
    from softquery.bundle import read_bundle

    if output.exists():
        raise InputError("already exists; name another --output", source=output)
    require_onnx(needed_for="importing an encoder")
    with TemporaryDirectory() as scratch:
        bundle = read_bundle(convert(folder, Path(scratch) / output.name))
        report = export_kind(ExportWish(bundle=bundle, target=output))
    facts = {
        **_shape(bundle.config.model["config"], bundle.config.task),
        "longest text": f"{bundle.config.text['max_tokens']} pieces",
        "largest difference from torch": f"{report.difference:.1e}",
        "size": f"{report.size_bytes / 1e6:.1f} MB",
    }
    if as_json:
        print_json({"bundle": str(output), **bundle.config.model, "task": bundle.config.task})
    else:
        print_table(str(output), (bundle.config.model["name"], ""), list(facts.items()))


def _shape(settings: dict[str, Any], task: dict[str, Any]) -> dict[str, object]:
    """What is worth knowing of a matcher, of an encoder with pools, or of a table."""
    inside = settings.get("encoder", settings)
    facts: dict[str, object] = {"pieces": inside["vocab_size"]}
    if "num_layers" in inside:
        facts["layers"] = inside["num_layers"]
    if task["name"] != "encode":
        return {**facts, "answers": ", ".join(task.get("labels", ["a grade from 0 to 1"]))}
    return {**facts, "pooling": ", ".join(settings["pools"]),
            "width of a vector": settings["output_size"]}  # fmt: skip


@imports.command()
def vectors(
    file: Annotated[
        Path, typer.Argument(help="Vectors of GloVe, word2vec (text or binary) or fastText.")
    ],
    output: Output,
    on_error: Annotated[
        str, typer.Option(help="`stop` at a bad row of text, or `skip` it into OUTPUT.errors.tsv.")
    ] = "stop",
    as_json: AsJson = False,
) -> None:
    """Word vectors of GloVe, word2vec or fastText: .txt, .vec, .bin, plain or compressed.

    fastText's .bin files bring their n-grams along, so that unseen words have vectors, too.
    """
    from softquery.bundle import read_bundle
    from softquery.runtime.vectors.convert import import_vectors

    require_choice("--on-error", on_error, ("stop", "skip"))
    bad = BadRows(output) if on_error == "skip" else None
    with bad or nullcontext():
        made = import_vectors(file, output, on_bad=None if bad is None else bad.add)
        if bad is not None:
            bad.keep()
    metrics = read_bundle(made).metrics
    if bad is not None and bad.count:
        note(f"{counted(bad.count, 'bad row')} skipped: {bad.path}")
    if as_json:
        skipped = {} if bad is None else {"num_skipped": bad.count}
        print_json({"bundle": str(output), **metrics, **skipped})
    else:
        print_table(str(output), ("vectors", ""), list(metrics.items()))
