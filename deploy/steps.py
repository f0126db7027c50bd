"""Run the steps of the Dockerfile without Docker: `python deploy/steps.py FOLDER`.

Every RUN, COPY and ENV is carried out below FOLDER instead of `/`, with this Python instead of the
image's; then ENTRYPOINT starts the server, HEALTHCHECK checks it, and it is told to stop. Creating
a user is left out, because it needs root.
"""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parent.parent
PLACES = ("/opt/softquery", "/source", "/data")
LEFT_OUT = ("useradd",)


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile with their arguments; continued lines are joined."""
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    kept = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in kept]


class Steps:
    """Carries out a Dockerfile in a folder.

    Args:
        folder: Takes the place of `/`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
        }
        self.entry: list[str] = []
        self.check: list[str] = []

    def inside(self, text: str) -> str:
        """The text with paths of the image replaced by paths of the folder."""
        for place in PLACES:
            text = text.replace(place, f"{self.folder}{place}")
        return text

    def run(self, word: str, rest: str) -> None:
        """Carry out one instruction."""
        act = {"RUN": self.command, "COPY": self.copy, "ENV": self.variables}.get(word)
        if act is not None:
            act(rest)
        elif word == "ENTRYPOINT":
            self.entry = [self.inside(part) for part in json.loads(rest)]
        elif word == "HEALTHCHECK":
            listed = json.loads(rest[rest.index("[") :])
            self.check = [self.inside(part) for part in listed]

    def command(self, rest: str) -> None:
        """Run the command of a RUN."""
        if rest.startswith(LEFT_OUT):
            return
        print("RUN", rest, flush=True)
        line = re.sub(r"^python ", f"{shlex.quote(sys.executable)} ", self.inside(rest))
        subprocess.run(line, shell=True, check=True, cwd=self.folder, env=self.environment)

    def copy(self, rest: str) -> None:
        """Copy the files of a COPY."""
        if rest.startswith("--from"):
            return  # both stages share the folder
        *sources, target = rest.split()
        place = Path(self.inside(target))
        for source in sources:
            path = ROOT / source
            if path.is_dir():
                shutil.copytree(path, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, place)

    def variables(self, rest: str) -> None:
        """Set the variables of an ENV."""
        for pair in shlex.split(self.inside(rest)):
            name, _, value = pair.partition("=")
            self.environment[name] = Template(value).safe_substitute(self.environment)

    def serve(self) -> None:
        """Start the server, check that it is running, and stop it."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        environment = {**self.environment, "SOFTQUERY_PORT": port, "SOFTQUERY_HOST": "127.0.0.1"}
        server = subprocess.Popen(self.entry, env=environment, cwd=self.folder)
        try:
            end = time.monotonic() + 60
            while subprocess.run(self.check, env=environment, cwd=self.folder).returncode:
                assert server.poll() is None, "the server ended"
                assert time.monotonic() < end, "the server did not start"
                time.sleep(0.2)
            for path in ("/", "/page/page.js"):  # the files of the page were installed as well
                urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10).close()
            print("healthy", flush=True)
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait(40)
        assert code == 0, f"the server left with {code}"
        print("stopped", flush=True)


def main(folder: Path) -> None:
    """Carry out the Dockerfile in a folder, then start the server and stop it."""
    folder.mkdir(parents=True, exist_ok=True)
    steps = Steps(folder.resolve())
    text = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    for word, rest in instructions(text):
        steps.run(word, rest)
    steps.serve()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
