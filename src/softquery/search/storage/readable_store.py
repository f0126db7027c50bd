"""What searching asks of the place where an index lies."""

from pathlib import Path
from typing import Protocol

from softquery.search.storage.manifest import Manifest
from softquery.search.storage.segment import Segment, SegmentShape
from softquery.search.storage.tuning_files import StoredTuning


class ReadableStore(Protocol):
    """Where an index lies, as far as searching it asks."""

    @property
    def folder(self) -> Path:
        """Its folder, or what stands for one."""

    @property
    def manifest(self) -> Manifest:
        """The state of the index as this process sees it."""

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments that hold the rows, if they are in folders."""

    @property
    def tuning(self) -> StoredTuning | None:
        """What was learned from labelled queries, if anything was."""

    def require_shape(self, shape: SegmentShape) -> None:
        """Refuse segments, also later ones, that other models have written."""

    def refresh(self) -> bool:
        """Load what other processes have changed, and return whether there was anything."""
