"""Bundles from a hub, with the real client against a hub on this machine."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("huggingface_hub", reason="the hub needs the extra [hub]")

from hub_server import Repository, serving_hub
from softquery.zoo import resolve

SOUND = ["config.json", "model.safetensors", "tokenizer.json", "metrics.json", "README.md"]


@pytest.fixture(scope="module")
def hub():
    with serving_hub() as served:
        yield served


@pytest.fixture
def models(hub, tmp_path):
    """`softquery models …` in a process of its own: the client reads its variables once."""

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("HF_")},
            "SOFTQUERY_HOME": str(tmp_path / "home"),
            "HF_HOME": str(tmp_path / "hf"),
            "HF_ENDPOINT": hub.endpoint,
            "no_proxy": "127.0.0.1",
            **variables,
        }
        hub.requests.clear()
        command = [sys.executable, "-m", "softquery", "models", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    return run


def refused(result: subprocess.CompletedProcess[str], tmp_path) -> str:
    """The one line of a refusal that left nothing behind."""
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert not (tmp_path / "home").exists()
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr.removeprefix("softquery: ").strip()


def test_a_repository_becomes_a_model_at_one_commit(hub, models, tmp_path):
    others = {".gitattributes": b"*", "pytorch_model.bin": b"\x80\x04.", "code.py": b"raise"}
    commit = hub.add("acme/faq-en", resolve("nli-en"), **others)
    added = models("add", "hub:acme/faq-en", "--json")
    assert added.returncode == 0, added.stderr
    [told] = json.loads(added.stdout)
    assert (told["name"], told["source"]) == ("faq-en", f"hub:acme/faq-en@{commit}")
    asked = {request.rpartition(commit)[2] for request in hub.requests if "/resolve/" in request}
    assert {f"/{name}" for name in SOUND} < asked
    assert asked.isdisjoint({"/.gitattributes", "/pytorch_model.bin", "/code.py"})
    folder = tmp_path / "home" / "models" / "faq-en"
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    theirs = {p.relative_to(resolve("nli-en")).as_posix() for p in resolve("nli-en").rglob("*.*")}
    assert names == theirs | {".added.json"}
    listed = json.loads(models("--json").stdout)
    [entry] = [each for each in listed if each["name"] == "faq-en"]
    assert (entry["origin"], entry["source"]) == ("local", f"hub:acme/faq-en@{commit}")
    assert hub.requests == [], "a list asks nobody"


def test_a_revision_is_pinned(hub, models):
    old = hub.add("acme/pinned", resolve("nli-en"), "v1")
    new = hub.add("acme/pinned", resolve("nli-en"), "main", **{"NOTICE": b"new"})
    for revision, commit in (("v1", old), ("main", new), (old, old)):
        result = models("add", f"hub:acme/pinned@{revision}", "--name", "p", "--replace", "--json")
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)[0]["source"] == f"hub:acme/pinned@{commit}"


def test_a_private_repository_needs_the_token_of_the_environment(hub, models, tmp_path):
    hub.add("acme/private", resolve("nli-en"))
    hub.repositories["acme/private"].token = "hf_secret"
    said = refused(models("add", "hub:acme/private"), tmp_path)
    assert said == (
        "hub:acme/private: no such repository, or a private one: set HF_TOKEN to a token that may "
        "read it"
    )
    assert models("add", "hub:acme/private", HF_TOKEN="hf_secret").returncode == 0


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("hub:acme/none", "hub:acme/none: no such repository, or a private one: set HF_TOKEN"),
        ("hub:acme/odd@v9", "hub:acme/odd@v9: the repository has no such revision"),
        ("hub:acme/empty", "hub:acme/empty: is no bundle: config.json or model.safetensors is"),
        ("hub:acme/large", "hub:acme/large: config.json is larger than 16,777,216 bytes"),
        ("hub:acme/odd", "hub:acme/odd/model.safetensors: damaged or not a safetensors file"),
        ("hub:acme/match-en", "match-en is the name of a model of softquery, which would be taken"),
    ],
)
def test_what_is_no_bundle_is_refused(hub, models, tmp_path, place, said):
    sound = {name: b"{}" for name in SOUND}
    hub.repositories["acme/empty"] = Repository()
    hub.repositories["acme/empty"].commit({"README.md": b"soon"}, "main")
    hub.add("acme/odd", resolve("nli-en"), **{"model.safetensors": b"0"})
    large = hub.repositories["acme/large"] = Repository(sizes={"config.json": 1 << 30})
    large.commit(sound, "main")
    assert refused(models("add", place), tmp_path).startswith(said)


def test_a_hub_that_does_not_answer_is_one_line(models, tmp_path):
    nobody = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_ETAG_TIMEOUT": "1"}
    said = refused(models("add", "hub:acme/faq", **nobody), tmp_path)
    assert said.startswith("hub:acme/faq: ")
    said = refused(models("add", "hub:acme/faq", HF_HUB_OFFLINE="1"), tmp_path)
    assert said == "hub:acme/faq: the hub is not asked, because HF_HUB_OFFLINE is set"


def test_a_missing_extra_is_named(models, tmp_path):
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "huggingface_hub.py").write_text("raise ImportError('not installed')")
    path = os.pathsep.join([str(tmp_path / "without"), os.environ.get("PYTHONPATH", "")])
    said = refused(models("add", "hub:acme/faq", PYTHONPATH=path), tmp_path)
    assert said == ('fetching hub:acme/faq needs an optional part: pip install "softquery[hub]"')
