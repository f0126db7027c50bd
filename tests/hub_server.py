"""A small hub on this machine that speaks Hugging Face's protocol: repositories, revisions, tokens.

It answers what `huggingface_hub` asks when it looks at a repository and fetches files: the list of
files at a revision, and each file with its commit, its hash and its length.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

INFO = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)(/revision/(?P<revision>.+))?")
FILE = re.compile(r"/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<name>.+)")


@dataclass
class Repository:
    """The files of each commit, the names of commits, and who may read them."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    token: str | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    """Sizes that the list states in place of the true ones."""

    def commit(self, files: dict[str, bytes], *names: str) -> str:
        """Add a commit, which branches and tags may name."""
        parts = [f"{name}\0".encode() + files[name] for name in sorted(files)]
        commit = hashlib.sha1(b"".join(parts)).hexdigest()
        self.commits[commit] = files
        self.names.update(dict.fromkeys(names, commit))
        return commit


@dataclass
class Hub:
    """Repositories by `OWNER/NAME`, and what was asked for so far."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    endpoint: str = ""
    broken: bool = False

    def add(self, repo: str, folder: Path, *names: str, **others: bytes) -> str:
        """Publish a folder as a commit."""
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        found = self.repositories.setdefault(repo, Repository())
        return found.commit({**files, **others}, *(names or ("main",)))


class _Handler(BaseHTTPRequestHandler):
    hub: Hub

    def log_message(self, *words: object) -> None: ...

    def do_HEAD(self) -> None:  # noqa: N802
        self.do_GET()

    def do_GET(self) -> None:  # noqa: N802
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(f"{self.command} {path}")
        if self.hub.broken:
            return self.refuse(500, "", "out of order")
        found = INFO.fullmatch(path) or FILE.fullmatch(path)
        repository = self.hub.repositories.get(found["repo"]) if found else None
        told = self.headers.get("Authorization")
        if repository is None or (repository.token and told != f"Bearer {repository.token}"):
            return self.refuse(404 if told else 401, "RepoNotFound", "Repository not found")
        revision = found["revision"] or "main"
        commit = repository.names.get(revision, revision)
        if commit not in repository.commits:
            return self.refuse(404, "RevisionNotFound", "Invalid rev id")
        files = repository.commits[commit]
        if "name" not in found.groupdict():
            return self.send(200, _listing(found["repo"], commit, repository, files), {})
        if found["name"] not in files:
            return self.refuse(404, "EntryNotFound", "Entry not found")
        content = files[found["name"]]
        etag = f'"{hashlib.sha1(content).hexdigest()}"'
        return self.send(200, content, {"X-Repo-Commit": commit, "ETag": etag})

    def refuse(self, status: int, code: str, message: str) -> None:
        headers = {"X-Error-Message": message}
        self.send(status, b"{}", {**headers, **({"X-Error-Code": code} if code else {})})

    def send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


def _listing(repo: str, commit: str, repository: Repository, files: dict[str, bytes]) -> bytes:
    siblings = [
        {"rfilename": name, "size": repository.sizes.get(name, len(content)), "blobId": "0" * 40}
        for name, content in files.items()
    ]
    private = repository.token is not None
    facts = {"id": repo, "modelId": repo, "sha": commit, "private": private, "siblings": siblings}
    return json.dumps({**facts, "tags": [], "downloads": 0, "likes": 0}).encode()


@contextmanager
def serving_hub() -> Iterator[Hub]:
    """A hub that runs until the end of the block."""
    hub = Hub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        hub.endpoint = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()
