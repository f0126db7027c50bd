"""The examples of docs/integrations.md, run where the package that they need is installed."""

import doctest
import re

from integration_table import ROOT

PAGE = ROOT / "docs" / "integrations.md"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_section(heading: str) -> int:
    """Run the blocks below a heading as one session; returns how many examples there were."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    code = "\n".join(BLOCK.findall(section))
    names: dict[str, object] = {"__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest(code, names, heading, str(PAGE), 0)
    report: list[str] = []
    failed, count = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append)
    assert failed == 0, "".join(report)
    return count
