"""Try graphs out before a bundle gets them: against torch, and int8 behind its gate.

int8 is accepted only inside the gate: where it costs more than allowed, float32 is kept and the
report says so.
"""

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from softquery.bundle import RECORDS, Bundle, BundleConfig, write_bundle
from softquery.errors import BundleError, ConfigError
from softquery.export.accuracy_gate import AccuracyGate, ExportReport, points_lost
from softquery.export.embed import bilm_graphs
from softquery.export.graph.builder import Graph
from softquery.runtime.embed.word_layers import is_nested, sizes_of
from softquery.runtime.graph_weights import arrange, dequantised
from softquery.runtime.inner.mixed import without_bilm
from softquery.runtime.inner.reads import PREFIX
from softquery.runtime.onnx_session import USED

Weights = dict[str, NDArray[Any]]
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """A model that is to be exported, and how its graphs are judged."""

    bundle: Bundle
    """What was trained."""
    config: BundleConfig
    """What the exported bundle says."""
    graphs: Callable[[Weights], list[Graph]]
    """Its graphs, from weights as `arrange` lays them out, without those of a biLM inside."""
    difference: Callable[[Path], float]
    """How far an exported bundle's probabilities lie from torch's, at most."""
    score: Callable[[Path], float]
    """An exported bundle's figure on labelled rows."""
    metric: str
    """What that figure is."""
    num_rows: int
    """How many rows it is measured on."""
    cost: Callable[[float, float], float] = points_lost
    """What the figure lost on the way from float32 to int8."""

    def run(
        self, output: Path, weights: Weights, small: Weights | None, limit: float
    ) -> ExportReport:
        """Write an exported bundle, whole or not at all.

        Args:
            output: Where it goes; the bundle's own folder is replaced.
            weights: As float32, by torch's names.
            small: The same as int8, where it is to be tried.
            limit: What int8 may cost.
        """
        with tempfile.TemporaryDirectory() as scratch:
            plain = self._write(Path(scratch) / "float32", weights)
            difference = self._checked(plain)
            gate = None
            if small is not None:
                gate = self._gate(plain, self._write(Path(scratch) / "int8", small), limit)
        accepted = gate is not None and gate.accepted
        precision = "int8" if accepted else "float32"
        note: dict[str, Any] = {"precision": precision, "difference_from_torch": difference}
        note |= {"gate": asdict(gate)} if gate is not None else {}
        kept = small if accepted and small is not None else weights
        target = self._write(output, kept, {"export": note})
        return ExportReport(
            bundle=target,
            precision=precision,
            difference=difference,
            gate=gate,
            size_bytes=sum(path.stat().st_size for path in target.rglob("*") if path.is_file()),
        )

    def _checked(self, exported: Path) -> float:
        """The difference from torch, refused where it is too large."""
        worst = self.difference(exported)
        if not worst <= TOLERANCE:
            raise BundleError(
                f"{self.bundle.path}: the exported graphs differ from torch by {worst:.1e}"
            )
        return worst

    def _gate(self, plain: Path, small: Path, limit: float) -> AccuracyGate:
        figures = [self.score(path) for path in (plain, small)]
        lost = self.cost(*figures)
        return AccuracyGate(
            metric=self.metric,
            float32=figures[0],
            int8=figures[1],
            lost_points=lost,
            limit_points=limit,
            n=self.num_rows,
            accepted=lost <= limit,
        )

    def _write(
        self, output: Path, weights: Weights, notes: Mapping[str, Any] | None = None
    ) -> Path:
        graphs = self.graphs(arrange(without_bilm(weights)))
        if is_nested(self.bundle) and self.bundle.config.base is None:
            graphs += bilm_graphs(dequantised(weights), sizes_of(self.bundle), PREFIX)
        files = {f"{graph.name}.onnx": graph.to_bytes() for graph in graphs}
        used = {graph.name: sorted(graph.used) for graph in graphs}
        files[USED] = (json.dumps(used, indent=1) + "\n").encode()
        records = self.bundle.path / RECORDS
        return write_bundle(
            output,
            config=self.config,
            tokenizer_json=self.bundle.tokenizer_path.read_text(encoding="utf-8"),
            weights=weights,
            metrics={**self.bundle.metrics, **(notes or {})},
            card=self.bundle.card,
            calibration=self.bundle.calibration,
            graphs=files,
            records=records if records.is_dir() else None,
            replace=output.exists(),
        )
