"""From `pip install` in an empty environment to a served FAQ with rows of one's own, timed.

    python benchmarks first_steps --wheels FOLDER [--page README.zh.md] [--output results.json]

The commands are those of the first page, in its order, with one's own CSV in place of the sample.
Not counted: making the virtual environment. FOLDER holds the wheels of softquery and
softquery-models; what they depend on comes from where pip takes it.
"""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "http://127.0.0.1:8000"
OWN = {
    "README.md": (
        "question,answer\n"
        "Can I bring my dog to the campsite?,Yes.\n"
        "When is check-in?,From 3 pm.\n"
        "Do you have electricity for caravans?,Every pitch has a socket.\n"
        "Is there a supermarket nearby?,300 m along the lake.\n",
        "may I bring a dog",
    ),
    "README.zh.md": (
        "question,answer\n营地可以带狗吗？,可以。\n几点可以入住？,下午三点以后。\n"
        "房车有电源吗？,每个营位都有插座。\n附近有超市吗？,沿湖 300 米。\n",
        "能不能带狗",
    ),
}
"""Rows of one's own, and a query that the first of them answers."""


def commands(page: str) -> list[str]:
    """What the page tells to type, until the table of models."""
    text = (ROOT / page).read_text(encoding="utf-8").partition("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines() if line]


def with_own_rows(command: str, own: str) -> list[str]:
    """The words of a command, with one's own file in place of the sample."""
    return [own if word.startswith("softquery-demo/") else word for word in shlex.split(command)]


def served(words: list[str], query: str, place: dict) -> tuple[float, list[str]]:
    """Seconds until a server has answered a query, and the answers that it gave."""
    began = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **place)
    body = json.dumps({"query": query}).encode()
    asked = urllib.request.Request(
        f"{ADDRESS}/v1/search", body, {"content-type": "application/json"}
    )
    try:
        while process.poll() is None:
            try:
                with urllib.request.urlopen(asked) as response:
                    hits = json.load(response)["hits"]
                return time.perf_counter() - began, [hit["question"] for hit in hits]
            except urllib.error.URLError:
                time.sleep(0.05)
        sys.exit(f"{shlex.join(words)} ended with exit code {process.returncode}")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def trial(page: str, wheels: Path) -> dict:
    """Type what the page says, in an empty folder and an empty environment."""
    rows, query = OWN[page]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
        work = Path(folder, "work")
        work.mkdir()
        (work / "mine.csv").write_text(rows, encoding="utf-8")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SOFTQUERY"))}
        path = f"{folder}/venv/bin:{kept['PATH']}"
        environment = {**kept, "PATH": path, "PIP_FIND_LINKS": str(wheels.resolve())}
        place = {"cwd": work, "env": environment}
        steps, answers = [], []
        for command in commands(page):
            words = with_own_rows(command, "mine.csv")
            words[0] = f"{folder}/venv/bin/{words[0]}"
            if words[1] == "serve":
                seconds, answers = served(words, query, place)
            else:
                began = time.perf_counter()
                subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **place)
                seconds = time.perf_counter() - began
            steps.append({"command": command, "seconds": round(seconds, 1)})
    total = round(sum(step["seconds"] for step in steps), 1)
    return {"page": page, "commands": len(steps), "seconds": total, "hits": answers, "steps": steps}


def main() -> None:
    """Try a page, and print how long each command took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--page", choices=tuple(OWN), default="README.md")
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    told = json.dumps(trial(asked.page, asked.wheels), indent=2, ensure_ascii=False) + "\n"
    print(told, end="")
    if asked.output:
        asked.output.write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()
