"""From what was found to what to do."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from softquery.doctor.installation import Installation
from softquery.doctor.machine import Machine
from softquery.errors import counted

LITTLE_MEMORY = 1_000_000_000
"""Bytes below which an index of any size, or training, may not fit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """Something that is not well, or that could be better.

    Attributes:
        is_fault: Whether something does not work; otherwise it is only slower, or less, than it
            could be.
        found: What was found.
        remedy: What to do.
    """

    is_fault: bool
    found: str
    remedy: str


def advise(installation: Installation, machine: Machine) -> Iterator[Advice]:
    """What somebody with this installation on this machine should know, faults first."""
    yield from _faults(installation)
    yield from _missing(installation)
    yield from _slow(machine)


def _faults(installation: Installation) -> Iterator[Advice]:
    for problem in installation.problems:
        yield Advice(
            is_fault=True,
            found=problem,
            remedy="softquery models lists where each model comes from; remove or replace this one",
        )
    folder = Path(installation.local_folder)
    if (place := _nearest(folder)) is not None and not os.access(place, os.W_OK):
        yield Advice(
            is_fault=True,
            found=f"{folder}: cannot be written, so that softquery models add will fail",
            remedy="set SOFTQUERY_HOME to a folder of yours",
        )
    encoding = getattr(sys.stdout, "encoding", None) or "unknown"
    if encoding.lower().replace("-", "") != "utf8":
        yield Advice(
            is_fault=True,
            found=f"output is encoded as {encoding}, which has no Chinese",
            remedy="set PYTHONUTF8=1, or a locale of UTF-8",
        )


def _nearest(folder: Path) -> Path | None:
    """The folder itself, or what exists of the way to it."""
    return next((place for place in (folder, *folder.parents) if place.exists()), None)


def _missing(installation: Installation) -> Iterator[Advice]:
    if installation.absent_models:
        count = counted(len(installation.absent_models), "shipped model")
        yield Advice(
            is_fault=False,
            found=f"{count} not installed: {', '.join(installation.absent_models)}",
            remedy="pip install softquery-models",
        )
    if installation.extras.get("search"):
        yield Advice(
            is_fault=False,
            found="an index of questions cannot be made or searched",
            remedy='pip install "softquery[search]"',
        )


def _slow(machine: Machine) -> Iterator[Advice]:
    if machine.has_fast_int8 is False:
        yield Advice(
            is_fault=False,
            found="the processor has no instructions for int8 (VNNI, or dot products on ARM), so "
            "that int8 models gain little over float32",
            remedy="a newer processor, if milliseconds count",
        )
    if machine.usable_cores < machine.cores:
        yield Advice(
            is_fault=False,
            found=f"{machine.usable_cores:g} of {machine.cores} cores may be used, by affinity or "
            "by the container's quota",
            remedy=f"--threads {max(1, int(machine.usable_cores))}; more threads than that wait "
            "for each other",
        )
    if machine.load is not None and machine.load > machine.usable_cores:
        yield Advice(
            is_fault=False,
            found=f"other programs are using the cores: a load of {machine.load:.1f} on "
            f"{machine.usable_cores:g}",
            remedy="measure again when the machine is quiet",
        )
    if machine.memory_bytes is not None and machine.memory_bytes < LITTLE_MEMORY:
        yield Advice(
            is_fault=False,
            found=f"{machine.memory_bytes / 1e6:,.0f} MB of memory",
            remedy="the shipped matchers and small indexes fit; training does not",
        )
