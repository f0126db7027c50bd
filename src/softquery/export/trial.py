"""Try graphs out before a bundle gets them: against torch, and int8 behind its accuracy gate.

int8 is accepted only inside the gate: where it costs more than allowed, float32 is kept and the
report says so.
"""

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from numpy.typing import NDArray

from softquery.bundle import RECORDS, Bundle, BundleConfig, with_section, write_bundle
from softquery.errors import BundleError, ConfigError, counted
from softquery.export.accuracy_gate import AccuracyGate, ExportReport, points_lost
from softquery.export.graph.builder import Graph, graph_files
from softquery.export.graph.elmo import bilm_graphs
from softquery.runtime.embed.elmo import sizes_of
from softquery.runtime.graph_weights import arrange, dequantised
from softquery.runtime.inner.inner_weights import PREFIX, has_inner, without_inner

Weights = dict[str, NDArray[Any]]
Judge = Callable[[Path, Path, float], AccuracyGate]
"""Compares a bundle in float32 with one in int8, by what int8 may cost."""
Entry = TypeVar("Entry")
TOLERANCE = 1e-4
"""How far a float32 graph's probabilities may lie from torch's."""
CHECKED = 512
"""Rows on which the graphs are compared with torch."""


def check_wish(bundle: Bundle, kind: str, *, int8: bool, limit: float, rows: Sequence[Any]) -> None:
    """Refuse, before any work, what cannot be exported or judged."""
    if bundle.config.kind != kind:
        raise BundleError(f"{bundle.path}: expected a {kind}, found kind {bundle.config.kind!r}")
    if int8 and not rows:
        raise ConfigError("int8 needs labelled rows for its gate; name a file with --data")
    if not math.isfinite(limit):
        raise ConfigError(f"the gate must be a finite number of points, got {limit}")


def entry_of(bundle: Bundle, table: Mapping[str, Entry]) -> Entry:
    """What a table has for a bundle's model, which is refused where the table lacks it."""
    name = bundle.config.model["name"]
    if name not in table:
        known = ", ".join(table)
        raise BundleError(f"{bundle.path}: {name!r} cannot be exported (known: {known})")
    return table[name]


def completed(bundle: Bundle, settings: dict[str, Any]) -> BundleConfig:
    """A bundle's config with every setting of its model."""
    return replace(bundle.config, model={**bundle.config.model, "config": settings})


class Difference(NamedTuple):
    """How far an exported bundle's answers lie from torch's, at most."""

    worst: float
    scale: float = 1.0
    """What the tolerance is a share of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """One way to write a model: its weights, and the graphs over them."""

    config: BundleConfig
    weights: Weights
    graphs: Callable[[], list[Graph]]
    tokenizer_json: str | None = None
    """None for the bundle's own."""
    arithmetic: str | None = None
    """As what numbers are multiplied, where it is to be noted."""
    softmax: str | None = None
    """What became of an embedder's softmax."""

    @classmethod
    def around(
        cls,
        bundle: Bundle,
        config: BundleConfig,
        weights: Weights,
        graphs: Callable[[Weights], list[Graph]],
    ) -> "Form":
        """The model of a task, with the graphs of the embedder inside it where it holds one.

        Args:
            bundle: What was trained.
            config: What the exported bundle says.
            weights: By torch's names.
            graphs: Its own graphs, from weights as `arrange` lays them out.
        """

        def every() -> list[Graph]:
            own = graphs(arrange(without_inner(weights), config.model["name"]))
            if not has_inner(bundle) or bundle.config.base is not None:
                return own
            return own + bilm_graphs(dequantised(weights), sizes_of(bundle), PREFIX)

        return cls(config=config, weights=weights, graphs=every)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """A model that is to be exported, and how its graphs are judged."""

    bundle: Bundle
    """What was trained."""
    difference: Callable[[Path], Difference | None]
    """From torch; None where there is no torch to compare with."""
    judge: Judge
    tolerance: float | None = None
    """Which the difference must not exceed; None for `TOLERANCE`."""
    unit: str = ""
    """Of the difference, where it is none of a probability."""
    judged_on: str | None = None
    """What the gate counts, such as `"text"`, where the card shall tell of the export."""

    @classmethod
    def scored(
        cls,
        bundle: Bundle,
        metric: str,
        num_rows: int,
        *,
        difference: Callable[[Path], float],
        score: Callable[[Path], float],
        cost: Callable[[float, float], float] = points_lost,
    ) -> "Trial":
        """Of a model that is judged by one figure.

        Args:
            bundle: What was trained.
            metric: What the figure is.
            num_rows: How many rows it is measured on.
            difference: How far an exported bundle's probabilities lie from torch's, at most.
            score: An exported bundle's figure.
            cost: What the figure lost on the way from float32 to int8.
        """

        def judge(plain: Path, small: Path, limit: float) -> AccuracyGate:
            before, after = score(plain), score(small)
            lost = cost(before, after)
            return AccuracyGate.decide(
                metric=metric, float32=before, int8=after, lost=lost, limit=limit, n=num_rows
            )

        return cls(bundle=bundle, difference=lambda path: Difference(difference(path)), judge=judge)

    def run(
        self,
        output: Path,
        plain: Form,
        smaller: Sequence[Form],
        limit: float,
        finish: Callable[[Form], Form] = lambda kept: kept,
    ) -> ExportReport:
        """Write an exported bundle, whole or not at all.

        Args:
            output: Where it goes; the bundle's own folder is replaced.
            plain: In float32.
            smaller: In int8, in the order in which they are tried; the first one inside the gate is
                taken.
            limit: What int8 may cost.
            finish: Makes of what was chosen that which is written.
        """
        gates: list[AccuracyGate] = []
        kept = plain
        with tempfile.TemporaryDirectory() as scratch:
            whole = self._write(Path(scratch) / "float32", plain)
            difference = self._checked(whole)
            for form in smaller:
                tried = self._write(Path(scratch) / f"int8-{len(gates)}", form)
                gates.append(self.judge(whole, tried, limit))
                if gates[-1].accepted:
                    kept = form
                    break
        precision = "float32" if kept is plain else "int8"
        kept = finish(kept)
        target = self._write(output, kept, _noted(kept, precision, difference, gates))
        return ExportReport(
            bundle=target,
            precision=precision,
            difference=difference,
            gate=gates[-1] if gates else None,
            size_bytes=sum(path.stat().st_size for path in target.rglob("*") if path.is_file()),
        )

    def _checked(self, exported: Path) -> float | None:
        """The difference from torch, refused where it is too large."""
        found = self.difference(exported)
        if found is None:
            return None
        tolerance = TOLERANCE if self.tolerance is None else self.tolerance
        if not found.worst <= tolerance * found.scale:
            raise BundleError(
                f"{self.bundle.path}: the exported graphs differ from torch by "
                f"{found.worst:.1e}{self.unit}"
            )
        return found.worst

    def _write(self, output: Path, form: Form, note: Mapping[str, Any] | None = None) -> Path:
        bundle, card = self.bundle, self.bundle.card
        if note is not None and self.judged_on is not None:
            card = with_section(card, "Export", _section(note, self.judged_on))
        tokenizer_json, source = form.tokenizer_json, bundle.source_tokenizer_path
        if tokenizer_json is None:
            tokenizer_json = bundle.tokenizer_path.read_text(encoding="utf-8")
        records = bundle.path / RECORDS
        return write_bundle(
            output,
            config=form.config,
            tokenizer_json=tokenizer_json,
            weights=form.weights,
            metrics={**bundle.metrics, **({} if note is None else {"export": note})},
            card=card,
            calibration=bundle.calibration,
            source_tokenizer_json=None if source is None else source.read_text(encoding="utf-8"),
            graphs=graph_files(form.graphs()),
            records=records if records.is_dir() else None,
            replace=output.exists(),
        )


def _noted(
    kept: Form, precision: str, difference: float | None, gates: Sequence[AccuracyGate]
) -> dict[str, Any]:
    """What `metrics.json` says of an export."""
    note: dict[str, Any] = {"precision": precision}
    note |= {} if kept.arithmetic is None else {"arithmetic": kept.arithmetic}
    note["difference_from_torch"] = difference
    note |= {"gate": asdict(gates[-1])} if gates else {}
    note |= {"gate_of_int8_arithmetic": asdict(gates[0])} if len(gates) > 1 else {}
    return note | ({} if kept.softmax is None else {"softmax": kept.softmax})


def _section(note: Mapping[str, Any], judged_on: str) -> list[str]:
    """What the card says of an export."""
    arithmetic = f", multiplied as {note['arithmetic']}" if "arithmetic" in note else ""
    lines = [f"- Weights: {note['precision']}{arithmetic}."]
    if (gate := note.get("gate")) is not None:
        lines.append(
            f"- int8 {'was kept' if gate['accepted'] else 'was refused'}: {gate['metric']} "
            f"{gate['float32']:.4f} as float32, {gate['int8']:.4f} as int8, "
            f"on {counted(gate['n'], judged_on)}."
        )
    if note.get("softmax", "kept") != "kept":
        lines.append("- Without a softmax: it embeds; adapting it learns a new one.")
    return lines
