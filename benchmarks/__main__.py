"""The runner of all benchmarks.

    python benchmarks                                 list the topics and how each script is run
    python benchmarks TOPIC [SCRIPT] [OPTION ...]     run one

A topic is a folder. Without SCRIPT, the script that is named after the topic is run.
"""

import ast
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent


def scripts(topic: str) -> dict[str, Path]:
    """Every Python file of a topic by its name."""
    return {path.stem: path for path in sorted((HERE / topic).glob("*.py"))}


def topics() -> list[str]:
    """Every folder that has a script or a page."""
    folders = (path for path in sorted(HERE.iterdir()) if path.is_dir())
    return [path.name for path in folders if any(path.glob("*.py")) or any(path.glob("*.md"))]


def listed(topic: str) -> str:
    """What a topic has: its pages, and of each script what its docstring says first."""
    lines = [f"{topic}: {', '.join(path.name for path in sorted((HERE / topic).glob('*.md')))}"]
    for name, path in scripts(topic).items():
        told = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()
        usage = [line.strip() for line in told if line.strip().startswith("python benchmarks ")]
        lines += [f"  {name}.py: {told[0] if told else ''}", *(f"    {line}" for line in usage)]
    return "\n".join(lines)


def chosen(words: Sequence[str]) -> tuple[str, list[str]]:
    """The module that the words of a command line name, and the words left for it.

    Raises:
        SystemExit: No such topic, or one that has no script of that name nor of its own.
    """
    topic, *rest = words
    if topic not in topics():
        sys.exit(f"benchmarks: no topic {topic!r}; there are {', '.join(topics())}")
    there = scripts(topic)
    name, given = (rest[0], rest[1:]) if rest and rest[0] in there else (topic, rest)
    if name not in there:
        sys.exit(
            f"benchmarks: {topic} needs one of {', '.join(there) or 'no script: see its page'}"
        )
    return f"benchmarks.{topic}.{name}", given


def main() -> None:
    """List, or run what the command line names."""
    if not sys.argv[1:]:
        print("\n\n".join(map(listed, topics())))
        return
    module, given = chosen(sys.argv[1:])
    # `python benchmarks` puts the folder itself first; scripts import each other from above it.
    sys.path[0] = str(HERE.parent)
    sys.argv = [f"python benchmarks {module.split('.', 1)[1].replace('.', ' ')}", *given]
    runpy.run_module(module, run_name="__main__", alter_sys=False)


if __name__ == "__main__":
    main()
