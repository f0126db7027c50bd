"""`softquery export`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.console import note, print_json, print_table
from softquery.errors import ConfigError, InputError, MissingExtra

if TYPE_CHECKING:
    from softquery.bundle import Bundle


def export(
    model: Annotated[str, typer.Argument(help="The bundle to export: a folder, or a name.")],
    output: Annotated[
        Path | None, typer.Option(help="Where the exported bundle goes; in place by default.")
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Quantise; kept only where accuracy holds on --data.")
    ] = False,
    gate: Annotated[
        float, typer.Option(min=0.0, help="Points of accuracy that int8 may cost.")
    ] = 0.5,
    data: Annotated[
        Path | None, typer.Option(help="Labelled rows for the gate and the check.")
    ] = None,
    columns: Annotated[
        str, typer.Option(help="Our column names to the file's: sentence1=q1,sentence2=q2.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write ONNX graphs that run without torch, checked against it, int8 behind a gate."""
    try:
        import onnx  # noqa: F401
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("train", needed_for="export") from None
    from softquery.bundle import read_bundle
    from softquery.export import export_matcher
    from softquery.files import parse_columns, read_rows
    from softquery.zoo import resolve

    bundle = read_bundle(resolve(model))
    target = output or bundle.path
    if output is not None and output.exists():
        raise InputError("already exists; name another --output", source=output)
    if bundle.config.kind == "generator":
        _generator(bundle, target, int8, as_json)
        return
    rename = parse_columns(columns) if columns else None
    names = ("sentence1", "sentence2", "label")
    rows = [] if data is None else list(read_rows(data, columns=names, rename=rename))
    report = export_matcher(bundle, target, int8=int8, limit=gate, rows=rows)
    if as_json:
        print_json({**asdict(report), "bundle": str(report.bundle)})
        return
    lines: list[tuple[str, object]] = [
        ("precision", report.precision),
        ("largest difference from torch", f"{report.difference:.1e}"),
        ("size", f"{report.size_bytes / 1e6:.1f} MB"),
    ]
    if report.gate is not None:
        lines.append((f"{report.gate.metric}, float32", report.gate.float32))
        lines.append((f"{report.gate.metric}, int8", report.gate.int8))
        if not report.gate.accepted:
            note(
                f"int8 cost {report.gate.lost_points:.2f} points, over the gate of "
                f"{report.gate.limit_points:g}: float32 was kept"
            )
    print_table(str(report.bundle), ("export", ""), lines)


def _generator(bundle: "Bundle", target: Path, int8: bool, as_json: bool) -> None:
    from softquery.export import export_generator

    if int8:
        raise ConfigError("a generator is exported in float32 so far; leave --int8 away")
    report = export_generator(bundle, target)
    if as_json:
        print_json({**asdict(report), "bundle": str(report.bundle)})
        return
    lines: list[tuple[str, object]] = [
        ("precision", report.precision),
        ("largest difference from torch, nats a token", f"{report.difference:.1e}"),
        ("size", f"{report.size_bytes / 1e6:.1f} MB"),
    ]
    print_table(str(report.bundle), ("export", ""), lines)
