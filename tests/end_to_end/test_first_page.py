"""The first page's way to a served FAQ: its own commands, with rows of one's own."""

import re
import shlex
from pathlib import Path

import pytest
from running import softquery

pytest.importorskip("usearch")

ROOT = Path(__file__).resolve().parents[2]
MOST_COMMANDS = 8
OWN = "question,answer\nHow do I get a refund?,Fill in the form.\nDo you deliver?,Yes.\n"


def commands(page: str) -> list[str]:
    """What the page tells to type, until the table of models."""
    text = (ROOT / page).read_text(encoding="utf-8").partition("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines() if line]


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
def test_few_commands_lead_from_nothing_to_a_server(page):
    typed = commands(page)
    assert len(typed) <= MOST_COMMANDS
    assert typed[0].startswith("pip install ")
    assert typed[-1].startswith("softquery serve ")
    assert any(line.startswith("softquery index ") for line in typed)


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
def test_they_work_with_rows_of_one_s_own(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    typed = [shlex.split(line)[1:] for line in commands(page) if line.startswith("softquery ")]
    assert typed[0] == ["demo"]
    assert softquery("demo", "--samples").code == 0
    for verb, *words in typed[1:-1]:
        if verb == "index":
            Path(words[0]).write_text(OWN, encoding="utf-8")
        answer = softquery(verb, *words)
        assert answer.code == 0, answer.err
        assert answer.out
    served = typed[-1]
    assert Path(served[served.index("--index") + 1], "manifest.json").exists()
