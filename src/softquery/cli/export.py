"""`softquery export`."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softquery.cli.terminal.console import note, print_json, print_table
from softquery.cli.terminal.shared_options import (
    AsJson,
    PairColumns,
    columns_for,
    needs_extra,
    parse_rename,
)
from softquery.errors import BundleError, ConfigError, InputError
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.bundle import Bundle
    from softquery.export import ExportReport

IN_POINTS = ("accuracy", "f1", "macro_f1", "spearman", "auc", "bleu")
"""Measures that lose points; others grow by per cent."""
FORMS = ("onnx", "huggingface", "elmo")
BERT_HEAD = "softquery.export.bert:export_bert_head"
"""What exports a BERT of any of its four tasks."""


def export(
    model: Annotated[str, typer.Argument(help="The bundle to export: a folder, or a name.")],
    output: Annotated[
        Path | None, typer.Option(help="Where the exported bundle goes; in place by default.")
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Quantise; kept only where accuracy holds on --data.")
    ] = False,
    gate: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Points of accuracy, F1, AUC, Spearman or BLEU, or per cent of perplexity, int8 "
            "may cost; by default 0.5, of BLEU 0.3.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="For the gate and the check: labelled rows, tagged sentences, text for an "
            "embedder or an encoder, a generator's source and target."
        ),
    ] = None,
    drop_softmax: Annotated[
        bool,
        typer.Option(
            "--drop-softmax", help="Omit the softmax that an embedder was pretrained with."
        ),
    ] = False,
    form: Annotated[
        str,
        typer.Option(
            help="onnx; huggingface: a BERT as a folder of transformers; elmo: a biLM as ELMo's "
            "weights were published."
        ),
    ] = "onnx",
    columns: PairColumns = "",
    as_json: AsJson = False,
) -> None:
    """Write ONNX graphs that run without torch, checked against it, int8 behind a gate.

    A BERT can be written for transformers instead (--form huggingface), a biLM as the published
    lm_weights.hdf5 and options.json (--form elmo).
    """
    from softquery.bundle import read_bundle
    from softquery.zoo import resolve

    if form not in FORMS:
        raise ConfigError(f"--form must be one of {', '.join(FORMS)}, got {form!r:.80}")
    bundle = read_bundle(resolve(model))
    if form != "onnx":
        _publish(bundle, form, output, as_json)
        return
    require_onnx()
    target = output or bundle.path
    if output is not None and output.exists():
        raise InputError("already exists; name another --output", source=output)
    rename = parse_rename(columns)
    report = export_kind(
        ExportWish(
            bundle=bundle,
            target=target,
            int8=int8,
            limit=gate,
            data=data,
            rename=rename,
            drop_softmax=drop_softmax,
        )
    )
    if as_json:
        print_json({**asdict(report), "bundle": str(report.bundle)})
    else:
        _show(report)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportWish:
    """What the user asked for.

    Attributes:
        limit: Points of the kind's metric that int8 may cost; None for what the table says.
        data: Rows of the kind's task, for the gate.
        rename: Our column names to the file's.
        drop_softmax: Omit the softmax that an embedder was pretrained with.
    """

    bundle: "Bundle"
    target: Path
    int8: bool = False
    limit: float | None = None
    data: Path | None = None
    rename: dict[str, str] | None = None
    drop_softmax: bool = False


def export_kind(wish: ExportWish) -> "ExportReport":
    """Export a bundle as its kind is exported."""
    from softquery.runtime.bert.backend import is_bert
    from softquery.runtime.kinds import Lazy, kind_of
    from softquery.runtime.task_rows import ParseOptions

    kind = kind_of(wish.bundle)
    if wish.drop_softmax and kind.name != "embedder":
        raise ConfigError("--drop-softmax is for embedders, which are pretrained with one")
    if kind.exporter is None or kind.labelled is None:
        raise BundleError(f"{wish.bundle.path}: holds {kind.noun}, which need no export")
    with needs_extra("train", needed_for="export"):
        place = Lazy(BERT_HEAD) if is_bert(wish.bundle) else kind.exporter
        exporter = place.get()
    rows: Iterable[Any] = ()
    if wish.data is not None:
        rename = columns_for(wish.bundle, wish.rename, kind.labelled.columns)
        rows = kind.labelled.parse(wish.data, ParseOptions(rename=rename))
    given: dict[str, Any] = {kind.gate_argument: rows if kind.measured_on_text else list(rows)}
    if wish.drop_softmax:
        given["softmax"] = "left out"
    limit = kind.gate if wish.limit is None else wish.limit
    report: ExportReport = exporter(wish.bundle, wish.target, int8=wish.int8, limit=limit, **given)
    return report


def require_onnx(extra: str = "train", *, needed_for: str = "export") -> None:
    """Graphs are written with onnx, which extras bring."""
    with needs_extra(extra, needed_for=needed_for):
        import onnx  # noqa: F401


def _show(report: "ExportReport") -> None:
    lines: list[tuple[str, object]] = [
        ("precision", report.precision),
        ("largest difference from torch", _shown(report.difference)),
        ("size", f"{report.size_bytes / 1e6:.1f} MB"),
    ]
    if report.gate is not None:
        lines.append((f"{report.gate.metric}, float32", report.gate.float32))
        lines.append((f"{report.gate.metric}, int8", report.gate.int8))
        if not report.gate.accepted:
            unit = "points" if report.gate.metric in IN_POINTS else "per cent"
            note(
                f"int8 cost {report.gate.lost_points:.2f} {unit}, over the gate of "
                f"{report.gate.limit_points:g}: float32 was kept"
            )
    shown = [(localised(name), value) for name, value in lines]
    print_table(str(report.bundle), ("export", ""), shown)


def _publish(bundle: "Bundle", form: str, output: Path | None, as_json: bool) -> None:
    from softquery.interop import publish_bert

    if output is None:
        raise ConfigError(f"--form {form} writes another folder; name it with --output")
    folder = (publish_bert if form == "huggingface" else _publish_elmo)(bundle, output)
    if as_json:
        print_json({"folder": str(folder), "form": form})
    else:
        files = sorted(path.name for path in folder.iterdir())
        print_table(str(folder), ("export", ""), [("form", form), ("files", len(files))])


def _publish_elmo(bundle: "Bundle", folder: Path) -> Path:
    """Both files of a published ELMo, whole or not at all."""
    from softquery.files import atomic_folder
    from softquery.interop import publish_elmo

    if folder.exists():
        raise InputError("already exists; name another --output", source=folder)
    with atomic_folder(folder) as fresh:
        publish_elmo(bundle, weights=fresh / "lm_weights.hdf5", options=fresh / "options.json")
    return folder


def _shown(difference: float | None) -> str:
    return localised("not compared (no torch)") if difference is None else f"{difference:.1e}"
