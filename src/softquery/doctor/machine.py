"""The machine as a model meets it: processor, cores that may be used, memory."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm")
"""Those that make float32 or int8 products faster, as Linux names them, on Intel's and ARM's."""
INT8_INSTRUCTIONS = frozenset({"avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm"})
"""Any of these multiplies bytes several at a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A machine, as far as its system tells.

    Attributes:
        system: The operating system and its version.
        processor: The processor's name, or its architecture where the name is not told.
        cores: All that there are.
        usable_cores: Those that this process may use, by affinity and by a container's quota.
        instructions: Of `INSTRUCTIONS`; None where the system does not tell.
        memory_bytes: All memory, or what a container may use; None where the system does not tell.
        load: Processes that wanted a core over the last minute; None where the system does not
            tell.
    """

    system: str
    processor: str
    cores: int
    usable_cores: float
    instructions: tuple[str, ...] | None
    memory_bytes: int | None
    load: float | None

    @property
    def has_fast_int8(self) -> bool | None:
        """Whether int8 products have instructions of their own; None where that is not known."""
        if self.instructions is None:
            return None
        return not INT8_INSTRUCTIONS.isdisjoint(self.instructions)


def find_machine(root: Path = Path("/")) -> Machine:
    """Look at this machine.

    Args:
        root: Where `proc` and `sys` are.

    >>> find_machine().cores >= 1
    True
    """
    facts = _processor_facts(root / "proc/cpuinfo")
    cores = os.cpu_count() or 1
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        processor=facts.get("model name") or platform.processor() or platform.machine(),
        cores=cores,
        usable_cores=_usable_cores(root, cores),
        instructions=_instructions(facts),
        memory_bytes=_memory(root),
        load=_load(),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _processor_facts(path: Path) -> dict[str, str]:
    """The first processor's lines of `cpuinfo`."""
    lines = _text(path).partition("\n\n")[0].splitlines()
    pairs = (line.partition(":") for line in lines)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _instructions(facts: dict[str, str]) -> tuple[str, ...] | None:
    told = facts.get("flags") or facts.get("Features")
    if not told:
        return None
    flags = set(told.split())
    return tuple(name for name in INSTRUCTIONS if name in flags)


def _usable_cores(root: Path, cores: int) -> float:
    """The fewest of what exists, what affinity allows, and what a container's quota amounts to."""
    affinity = getattr(os, "sched_getaffinity", None)
    allowed = float(len(affinity(0)) if affinity else cores)
    quota, _, period = _text(root / "sys/fs/cgroup/cpu.max").strip().partition(" ")
    if not period:  # version 1 of control groups has a file for each
        quota = _text(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us").strip()
        period = _text(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us").strip()
    if quota.isdigit() and period.isdigit() and int(period):
        allowed = min(allowed, int(quota) / int(period))
    return allowed


def _memory(root: Path) -> int | None:
    found = []
    for line in _text(root / "proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == "MemTotal" and value.split()[:1] and value.split()[0].isdigit():
            found.append(int(value.split()[0]) * 1024)
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        told = _text(root / "sys/fs/cgroup" / limit).strip()
        if told.isdigit():
            found.append(int(told))
    return min(found) if found else None


def _load() -> float | None:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None
