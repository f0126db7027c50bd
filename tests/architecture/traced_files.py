"""Which files of softquery run during a command, once it has been imported, and which per batch."""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeVar

import softquery

HOME = str(Path(softquery.__file__).parent)
Result = TypeVar("Result")


@dataclass
class TracedFiles:
    """Files whose functions ran, by their path inside `softquery`; module bodies do not count."""

    ran: set[str] = field(default_factory=set)
    per_batch: set[str] = field(default_factory=set)
    """Those that ran in every one of the spans that `spanned_by` names."""
    num_spans: int = 0


def traced_files(
    action: Callable[[], Result], *, spanned_by: tuple[str, str] | None = None
) -> tuple[Result, TracedFiles]:
    """Run an action and say which files of softquery it ran.

    Args:
        action: What to run.
        spanned_by: A file and the function in it whose every call is one span, such as
            `("training/steps.py", "_run")` for a step of training.
    """
    found, in_spans, depth = TracedFiles(), Counter(), 0
    current: set[str] = set()
    names: dict[CodeType, str | None] = {}

    def name_of(code: CodeType) -> str | None:
        if code not in names:
            ours = code.co_filename.startswith(HOME) and code.co_name != "<module>"
            names[code] = str(Path(code.co_filename).relative_to(HOME)) if ours else None
        return names[code]

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal depth
        if event not in ("call", "return"):
            return
        file = name_of(frame.f_code)
        if file is None:
            return
        is_span = spanned_by == (file, frame.f_code.co_name)
        if event == "call":
            found.ran.add(file)
            if depth:
                current.add(file)
            depth += is_span
        elif is_span:
            depth -= 1
            if not depth:
                found.num_spans += 1
                in_spans.update(current)
                current.clear()

    sys.setprofile(note)
    try:
        result = action()
    finally:
        sys.setprofile(None)
    found.per_batch = {file for file, count in in_spans.items() if count == found.num_spans}
    return result, found
