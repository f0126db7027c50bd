"""`softquery export`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.console import note, print_json, print_table
from softquery.errors import ConfigError, InputError, MissingExtra

if TYPE_CHECKING:
    from softquery.bundle import Bundle
    from softquery.export import ExportReport


FORMS = ("onnx", "huggingface")


def export(
    model: Annotated[str, typer.Argument(help="The bundle to export: a folder, or a name.")],
    output: Annotated[
        Path | None, typer.Option(help="Where the exported bundle goes; in place by default.")
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Quantise; kept only where accuracy holds on --data.")
    ] = False,
    gate: Annotated[
        float,
        typer.Option(min=0.0, help="Points of accuracy, or per cent of perplexity, int8 may cost."),
    ] = 0.5,
    data: Annotated[
        Path | None,
        typer.Option(help="For the gate and the check: labelled rows, for an embedder text."),
    ] = None,
    drop_softmax: Annotated[
        bool,
        typer.Option("--drop-softmax", help="Leave out what an embedder was pretrained with."),
    ] = False,
    form: Annotated[
        str, typer.Option(help="onnx, or huggingface: a BERT as a folder of transformers.")
    ] = "onnx",
    columns: Annotated[
        str, typer.Option(help="Our column names to the file's: sentence1=q1,sentence2=q2.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write ONNX graphs that run without torch, checked against it, int8 behind a gate.

    A BERT can be written for transformers instead (--form huggingface).
    """
    from softquery.bundle import read_bundle
    from softquery.files import parse_columns
    from softquery.zoo import resolve

    if form not in FORMS:
        raise ConfigError(f"--form must be one of {', '.join(FORMS)}, got {form!r:.80}")
    bundle = read_bundle(resolve(model))
    if form == "huggingface":
        _publish(bundle, output, as_json)
        return
    if bundle.config.kind == "encoder":
        raise ConfigError("an encoder has no answers to export yet; --form huggingface writes it")
    require_onnx()
    target = output or bundle.path
    if output is not None and output.exists():
        raise InputError("already exists; name another --output", source=output)
    rename = parse_columns(columns) if columns else None
    if bundle.config.kind == "embedder":
        report = _embedder(bundle, target, int8, gate, data, rename, drop_softmax)
    elif drop_softmax:
        raise ConfigError("--drop-softmax is for embedders, which are pretrained with one")
    else:
        report = _matcher(bundle, target, int8, gate, data, rename)
    if as_json:
        print_json({**asdict(report), "bundle": str(report.bundle)})
        return
    lines: list[tuple[str, object]] = [
        ("precision", report.precision),
        ("largest difference from torch", _shown(report.difference)),
        ("size", f"{report.size_bytes / 1e6:.1f} MB"),
    ]
    if report.gate is not None:
        lines.append((f"{report.gate.metric}, float32", report.gate.float32))
        lines.append((f"{report.gate.metric}, int8", report.gate.int8))
        if not report.gate.accepted:
            unit = "points" if report.gate.metric in ("accuracy", "spearman") else "per cent"
            note(
                f"int8 cost {report.gate.lost_points:.2f} {unit}, over the gate of "
                f"{report.gate.limit_points:g}: float32 was kept"
            )
    print_table(str(report.bundle), ("export", ""), lines)


def _publish(bundle: "Bundle", output: Path | None, as_json: bool) -> None:
    from softquery.interop import publish_bert

    if output is None:
        raise ConfigError("--form huggingface writes another folder; name it with --output")
    folder = publish_bert(bundle, output)
    if as_json:
        print_json({"folder": str(folder), "form": "huggingface"})
    else:
        files = sorted(path.name for path in folder.iterdir())
        print_table(str(folder), ("export", ""), [("form", "huggingface"), ("files", len(files))])


def require_onnx(extra: str = "train", *, needed_for: str = "export") -> None:
    """Graphs are written with onnx, which extras bring."""
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise MissingExtra(extra, needed_for=needed_for) from None


def _matcher(
    bundle: "Bundle",
    target: Path,
    int8: bool,
    gate: float,
    data: Path | None,
    rename: dict[str, str] | None,
) -> "ExportReport":
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("train", needed_for="export") from None
    from softquery.export import export_matcher
    from softquery.files import read_rows

    names = ("sentence1", "sentence2", "label")
    rows = [] if data is None else list(read_rows(data, columns=names, rename=rename))
    return export_matcher(bundle, target, int8=int8, limit=gate, rows=rows)


def _embedder(
    bundle: "Bundle",
    target: Path,
    int8: bool,
    gate: float,
    data: Path | None,
    rename: dict[str, str] | None,
    drop_softmax: bool,
) -> "ExportReport":
    from softquery.export import export_embedder
    from softquery.files import read_texts

    return export_embedder(
        bundle,
        target,
        int8=int8,
        limit=gate,
        texts=[] if data is None else read_texts([data], rename=rename),
        softmax="left out" if drop_softmax else "kept",
    )


def _shown(difference: float | None) -> str:
    return "not compared (no torch)" if difference is None else f"{difference:.1e}"
