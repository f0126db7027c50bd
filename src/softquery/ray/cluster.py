"""Ray itself: one that runs already, or one for this process; and what an actor takes of it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from softquery.errors import ConfigError, MissingExtra, counted

OBJECT_STORE = 512 * 1024 * 1024
"""Bytes of shared memory for rows under way, where Ray is started for this process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Actors:
    """How many models are open at once, and what each may use.

    Attributes:
        num_actors: Models that are open at once; None for one per GPU where there are some, else as
            many as the CPUs of the cluster allow.
        gpus: GPUs of all actors together.
        threads: CPUs of each.
    """

    num_actors: int | None = None
    gpus: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("num_actors", "threads"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ConfigError(f"{name} must be at least 1, got {value!r:.40}")
        if type(self.gpus) is not int or self.gpus < 0:
            raise ConfigError(f"gpus must be a number of GPUs, got {self.gpus!r:.40}")
        if self.num_actors is not None and self.num_actors < self.gpus:
            raise ConfigError(
                f"{counted(self.gpus, 'GPU')} for {counted(self.num_actors, 'actor')}; "
                "an actor uses at most one"
            )

    @property
    def device(self) -> str | None:
        """Where torch computes."""
        return "cuda" if self.gpus else None

    def settled(self, *, spare: int = 0) -> "Actors":
        """With a number of actors that the cluster can hold; starts Ray where none runs.

        Args:
            spare: CPUs that are left to others where no number was given.
        """
        ray = start_ray(self)
        there = ray.cluster_resources()
        if self.gpus > there.get("GPU", 0):
            raise ConfigError(
                f"--gpus {self.gpus}: the cluster has {counted(int(there.get('GPU', 0)), 'GPU')}"
            )
        room = int(there.get("CPU", 1)) // self.threads
        number = self.num_actors or self.gpus or max(1, room - spare)
        if number > room:
            raise ConfigError(
                f"{counted(number, 'actor')} of {counted(self.threads, 'thread')}: "
                f"the cluster has {counted(int(there.get('CPU', 1)), 'CPU')}"
            )
        return Actors(num_actors=number, gpus=self.gpus, threads=self.threads)

    def remote_options(self) -> dict[str, Any]:
        """What Ray sets aside for one of them."""
        options: dict[str, Any] = {"num_cpus": self.threads}
        if self.gpus:
            options["num_gpus"] = self.gpus / (self.num_actors or self.gpus)
        return options


def require_ray() -> Any:
    """The package, or which extra brings it."""
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingExtra("ray", needed_for="the engine ray") from None
    return ray


def start_ray(actors: Actors) -> Any:
    """Ray, connected: to the cluster of this process, to that of `RAY_ADDRESS`, or to a new one.

    A new one has as many CPUs as this machine, or as the actors were said to use; it sends no
    statistics of use to anybody, and ends with this process.
    """
    ray = require_ray()
    if ray.is_initialized():
        return ray
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if not os.environ.get("RAY_ADDRESS"):
        wanted = (actors.num_actors or 1) * actors.threads
        options |= {
            "num_cpus": max(_num_cpus(), wanted),
            "include_dashboard": False,
            "object_store_memory": OBJECT_STORE,
        }
    with _silent_core():
        ray.init(**options)
    return ray


@contextmanager
def _silent_core() -> Iterator[None]:
    """Ray's core says which log level it has past Python, before it keeps to it."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _num_cpus() -> int:
    """The CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
