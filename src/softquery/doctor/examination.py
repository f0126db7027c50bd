"""All that `softquery doctor` finds, as one value."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from softquery.doctor.advice import Advice, advise
from softquery.doctor.installation import Installation, find_installation
from softquery.doctor.machine import Machine, find_machine
from softquery.doctor.speed import Speed, measure_speed


@dataclass(frozen=True, kw_only=True, slots=True)
class Examination:
    """What was found, and what to do about it.

    Attributes:
        installation: What is installed.
        machine: The machine.
        speed: How fast the shipped models are; None where it was not measured.
        advice: What is not well, and what to do, the most important first.
    """

    installation: Installation
    machine: Machine
    speed: Speed | None
    advice: tuple[Advice, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return asdict(self)


def examine(*, speed: bool = True, say: Callable[[str], None] = lambda line: None) -> Examination:
    """Look at the installation and the machine, and measure the shipped models.

    Args:
        speed: Whether to measure; it takes about two seconds.
        say: Is told what takes time.

    >>> examine(speed=False).speed is None
    True
    """
    installation, machine = find_installation(), find_machine()
    measured = None
    if speed:
        say("measuring the shipped models")
        measured = measure_speed()
    return Examination(
        installation=installation,
        machine=machine,
        speed=measured,
        advice=tuple(advise(installation, machine)),
    )
