"""List the benchmarks, what each is for, and how it is run: `python benchmarks`."""

import ast
from pathlib import Path


def main() -> None:
    """Print what the docstrings of the scripts say."""
    folder = Path(__file__).parent
    for path in sorted(folder.glob("*.py")):
        if path.name == Path(__file__).name:
            continue
        lines = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()
        usage = [line.strip() for line in lines if line.strip().startswith("python benchmarks/")]
        print(f"{path.name}\n    {lines[0] if lines else ''}")
        for line in usage or ["(read by the others, not run by itself)"]:
            print(f"    {line}")


if __name__ == "__main__":
    main()
