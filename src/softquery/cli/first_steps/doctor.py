"""`softquery doctor`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.terminal.console import joined, note, print_json, print_table, print_text
from softquery.cli.terminal.shared_options import AsJson
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.doctor import Examination, Installation, Machine, Speed


def doctor(
    speed: Annotated[
        bool,
        typer.Option(
            "--speed/--no-speed", help="Measure the shipped models, which takes two seconds."
        ),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Look at the installation and the machine: versions, extras, threads, speed, what to do.

    Nothing is changed, and nothing is fetched. When you ask for help, send
    what this prints: it contains none of your texts, and of your names only the path of
    your models.

    The exit code is 0 even when something is wrong.
    """
    from softquery.doctor import examine

    found = examine(speed=speed, say=note)
    if as_json:
        print_json(found.to_dict())
        return
    _show(found)


def _show(found: "Examination") -> None:
    rows = [*_installed(found.installation), *_machine(found.machine)]
    print_table("", ("", "found"), _named(rows))
    print_table(
        localised("extras"),
        ("extra", "state"),
        [
            (extra, localised(f"lacks {', '.join(missing)}" if missing else "complete"))
            for extra, missing in found.installation.extras.items()
        ],
    )
    if found.speed is not None:
        title = localised("shipped models, int8, milliseconds (median)")
        print_table(title, ("", "ms"), _named(_speed(found.speed)))
    for each in found.advice:
        kind = localised("fault:" if each.is_fault else "note:")
        print_text(joined(kind, f"{localised(each.found)}\n  {localised(each.remedy)}"))
    if not any(each.is_fault for each in found.advice):
        print_text(localised("nothing is wrong"))


def _named(rows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Rows that begin with a name of ours, in the reader's language."""
    return [(localised(name), value) for name, value in rows]


def _installed(found: "Installation") -> list[tuple[str, str]]:
    packages = [
        (name, version or localised("not installed")) for name, version in found.packages.items()
    ]
    return [
        ("softquery", found.softquery),
        ("Python", found.python),
        *packages,
        ("models by name", str(found.models)),
        ("your models", found.local_folder),
    ]


def _machine(found: "Machine") -> list[tuple[str, str]]:
    unknown, memory_bytes = localised("unknown"), found.memory_bytes
    memory = unknown if memory_bytes is None else f"{memory_bytes / 1e9:.1f} GB"
    if found.instructions is None:
        instructions = localised("not told by this system")
    else:
        instructions = ", ".join(found.instructions) or localised("none of those that help")
    return [
        ("system", found.system),
        ("processor", found.processor),
        ("cores", localised(f"{found.usable_cores:g} of {found.cores} may be used")),
        ("instructions", instructions),
        ("memory", memory),
        ("load", unknown if found.load is None else f"{found.load:.1f}"),
    ]


def _speed(found: "Speed") -> list[tuple[str, str]]:
    return [
        ("load match-en", f"{1000 * found.load:.0f}"),
        ("compare two sentences", f"{1000 * found.pair:.2f}"),
        ("rank 100 stored candidates", f"{1000 * found.rank:.1f}"),
        ("vector of a text", f"{1000 * found.embed:.2f}"),
    ]
