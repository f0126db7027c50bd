"""Bad input for `softquery models add`, `remove` and `pack`."""

import struct
from collections.abc import Callable
from pathlib import Path

from hostile_cases import ANY, Case, Damage, both, changed, cut, file, gone

from forged_wheels import ABOUT, METADATA, POINTS, RECORD, Files, record, wheel_files, write_wheel

ADD = "models add acme.whl"
FAQ = "acme_models/faq"
NO_WHEEL = "acme.whl: is not a sound wheel"


def wheel(
    change: Callable[[Files], object] = lambda files: None,
    *,
    names: tuple[str, ...] = ("faq",),
    links: tuple[str, ...] = (),
) -> Damage:
    """A wheel of the bundle, with something changed in it; its RECORD fits unless that changes."""

    def damage(place: Path) -> None:
        files = wheel_files(place / "model", *names)
        change(files)
        write_wheel(place / "acme.whl", files, links=links)

    return damage


def put(name: str, content: bytes) -> Callable[[Files], object]:
    return lambda files: files.update({name: content})


def without(name: str) -> Callable[[Files], object]:
    return lambda files: files.pop(name)


def unlisted(files: Files) -> None:
    """A file that came into the wheel after its RECORD was written."""
    files[RECORD] = record(files)
    files[f"{FAQ}/LICENSE"] = b"Do what you like."


def swapped(files: Files) -> None:
    """Weights other than those that the RECORD was written for."""
    files[RECORD] = record(files)
    files[f"{FAQ}/model.safetensors"] = files[f"{FAQ}/model.safetensors"][:-4] + b"evil"


def bomb(place: Path) -> None:
    """300 MB of zeros in 300 KB."""
    wheel(put(f"{FAQ}/model.safetensors", bytes(300 << 20)))(place)


def lying(place: Path) -> None:
    """An archive whose list says that a file is far larger than it is."""
    wheel()(place)
    content = bytearray((place / "acme.whl").read_bytes())
    start = content.rindex(b"PK\x01\x02", 0, content.rindex(FAQ.encode() + b"/metrics.json"))
    content[start + 24 : start + 28] = struct.pack("<I", 1_000_000_000)
    (place / "acme.whl").write_bytes(content)


def linked(place: Path) -> None:
    """A folder whose card would show another file of whoever adds it."""
    (place / "model" / "README.md").unlink()
    (place / "model" / "README.md").symlink_to("/etc/passwd")


def own(name: str) -> Damage:
    """Something by that name among the user's own models."""
    return file(f"home/models/{name}/config.json", "{}")


ADD_MODELS = [
    Case(
        title="a path that is not there",
        command="models add none",
        said="none: no such model folder or wheel",
    ),
    Case(
        title="a file that is no wheel by its name",
        command="models add test.tsv",
        said="test.tsv: expected a model folder, a wheel (.whl), or hub:OWNER/NAME",
    ),
    Case(
        title="a folder that is no model",
        command="models add data",
        said="data: is no model folder (config.json is missing)",
    ),
    Case(
        title="a folder with weights that break off",
        command="models add model --name faq",
        damage=cut("model/model.safetensors"),
        said=f"model/model.safetensors: damaged or not a safetensors file ({ANY})",
    ),
    Case(
        title="a folder with a pickle beside the weights",
        command="models add model --name faq",
        damage=file("model/optimizer.pt", b"\x80\x04."),
        said="model/optimizer.pt: may be a pickle, which can run code and is never loaded",
    ),
    Case(
        title="a folder with a program in it",
        command="models add model --name faq",
        damage=file("model/run.sh", "touch ran"),
        said="model/run.sh: is no file of a bundle",
    ),
    Case(
        title="a folder with a link in it",
        command="models add model --name faq",
        damage=linked,
        said="model/README.md: is a link; a model that travels holds plain files only",
    ),
    Case(
        title="a folder with a card of 17 MB",
        command="models add model --name faq",
        damage=file("model/README.md", b" " * (17 << 20)),
        said="model/README.md: is larger than 16,777,216 bytes",
    ),
    Case(
        title="a folder of an unknown kind",
        command="models add model --name faq",
        damage=changed("model/config.json", "kind", to="oracle"),
        said=f"model: a bundle of kind 'oracle' cannot be opened (known: {ANY})",
    ),
    Case(
        title="the name of a shipped model",
        command="models add model --name match-en",
        said="match-en is the name of a model of softquery, which would be taken in its place; "
        "choose another name with --name",
    ),
    Case(
        title="the name of a shipped model in capitals",
        command="models add model --name Match-EN",
        said="Match-EN is the name of a model of softquery, which would be taken in its place; "
        "choose another name with --name",
    ),
    Case(
        title="a name that leads out of the folder",
        command="models add model --name ../evil",
        said="a model cannot be called '../evil': expected up to 100 letters, digits, '.', '_' and "
        "'-'; see --name",
    ),
    Case(
        title="a name that is a command",
        command="models add model --name remove",
        said="a model cannot be called 'remove', which is a command; see --name",
    ),
    Case(
        title="a name that is taken",
        command="models add model --name faq",
        damage=own("faq"),
        said=f"{ANY}home/models/faq: exists already; replace it with --replace, or see --name",
    ),
    Case(
        title="`--replace` of a folder that is no model",
        command="models add model --name faq --replace",
        damage=file("home/models/faq/notes.txt", "mine"),
        said=f"{ANY}home/models/faq: is not replaced, because it is no model folder",
    ),
    Case(
        title="a user's folder that is a file",
        command="models add model --name faq",
        damage=file("home", "x"),
        said=f"{ANY}home/models: cannot be written (Not a directory)",
    ),
    Case(
        title="a wheel that is text",
        command=ADD,
        damage=file("acme.whl", "see PyPI"),
        said=f"{NO_WHEEL} (File is not a zip file)",
    ),
    Case(
        title="a wheel that breaks off",
        command=ADD,
        damage=both(wheel(), cut("acme.whl")),
        said=f"{NO_WHEEL} (File is not a zip file)",
    ),
    Case(
        title="an archive that is no wheel",
        command=ADD,
        damage=lambda place: write_wheel(place / "acme.whl", {RECORD.replace("info", "x"): b""}),
        said=f"acme.whl: is not a wheel: {ABOUT}/WHEEL is missing",
    ),
    Case(
        title="a wheel without metadata",
        command=ADD,
        damage=wheel(without(METADATA)),
        said=f"acme.whl: is not a wheel: {METADATA} is missing",
    ),
    Case(
        title="a wheel of a later version",
        command=ADD,
        damage=wheel(put(f"{ABOUT}/WHEEL", b"Wheel-Version: 2.0\n")),
        said="acme.whl: is a wheel of version '2.0', expected 1.0",
    ),
    Case(
        title="metadata with a colour code",
        command=ADD,
        damage=wheel(put(METADATA, b"Name: acme\x1b[31m\nVersion: 1.0\n")),
        said="acme.whl: its metadata is broken: Name is 'acme\\x1b[31m'",
    ),
    Case(
        title="metadata with a version from elsewhere",
        command=ADD,
        damage=wheel(put(METADATA, "Name: acme\nVersion: 1.0/../../x\u202e\n".encode())),
        said="acme.whl: its metadata is broken: Version is '1.0/../../x\\u202e'",
    ),
    Case(
        title="metadata in another encoding",
        command=ADD,
        damage=wheel(put(METADATA, b"Name: caf\xe9\nVersion: 1.0\n")),
        said=f"acme.whl: {METADATA}: is not UTF-8 text (byte 9)",
    ),
    Case(
        title="a wheel that brings no models",
        command=ADD,
        damage=wheel(without(POINTS)),
        said="acme.whl: brings no models: no entry point in the group softquery.models",
    ),
    Case(
        title="an entry point with code",
        command=ADD,
        damage=wheel(put(POINTS, b"[softquery.models]\nx = acme_models:run\n")),
        said="acme.whl: its entry point must name a top-level package, got 'acme_models:run'",
    ),
    Case(
        title="entry points that cannot be read",
        command=ADD,
        damage=wheel(put(POINTS, b"softquery.models]\n")),
        said="acme.whl: its entry_points.txt is broken",
    ),
    Case(
        title="a package without models",
        command=ADD,
        damage=wheel(put(POINTS, b"[softquery.models]\nx = others\n")),
        said="acme.whl: its package 'others' holds no model",
    ),
    Case(
        title="a path that climbs out of the wheel",
        command=ADD,
        damage=wheel(put("../../evil.txt", b"x")),
        said="acme.whl: '../../evil.txt' leads out of the archive",
    ),
    Case(
        title="an absolute path",
        command=ADD,
        damage=wheel(put("/tmp/evil.txt", b"x")),
        said="acme.whl: '/tmp/evil.txt' leads out of the archive",
    ),
    Case(
        title="a path of Windows",
        command=ADD,
        damage=wheel(put("C:\\evil.txt", b"x")),
        said="acme.whl: 'C:\\\\evil.txt' leads out of the archive",
    ),
    Case(
        title="a link in a wheel",
        command=ADD,
        damage=wheel(put(f"{FAQ}/README.md", b"/etc/passwd"), links=(f"{FAQ}/README.md",)),
        said=f"acme.whl: '{FAQ}/README.md' is a link or a device, not a file",
    ),
    Case(
        title="two files that are one on some disks",
        command=ADD,
        damage=wheel(put(f"{FAQ}/CONFIG.json", b"{}")),
        said=f"acme.whl: '{FAQ}/{ANY}' is in it twice",
    ),
    Case(
        title="a file that no bundle holds",
        command=ADD,
        damage=wheel(put(f"{FAQ}/run.sh", b"rm -rf /")),
        said=f"acme.whl: '{FAQ}/run.sh' is no file of a bundle",
    ),
    Case(
        title="a pickle in a wheel",
        command=ADD,
        damage=wheel(put(f"{FAQ}/weights.pkl", b"\x80\x04.")),
        said=f"acme.whl: '{FAQ}/weights.pkl' may be a pickle, which can run code and is never "
        "loaded",
    ),
    Case(
        title="a zip bomb",
        command=ADD,
        damage=bomb,
        said=f"acme.whl: '{FAQ}/model.safetensors' unpacks to more than 16 times its size, "
        "314,572,800 bytes",
    ),
    Case(
        title="a list that gives a wrong size",
        command=ADD,
        damage=lying,
        said=f"acme.whl: '{FAQ}/metrics.json' is larger than 16,777,216 bytes",
    ),
    Case(
        title="a file that its RECORD lacks",
        command=ADD,
        damage=wheel(unlisted),
        said=f"acme.whl: '{FAQ}/LICENSE' is not in its RECORD",
    ),
    Case(
        title="a file that is not the one of its RECORD",
        command=ADD,
        damage=wheel(swapped),
        said=f"acme.whl: '{FAQ}/model.safetensors' does not fit the hash in its RECORD",
    ),
    Case(
        title="a RECORD of files that are missing",
        command=ADD,
        damage=wheel(lambda files: files.update({RECORD: record({**files, "a.py": b""})})),
        said="acme.whl: its RECORD lists 'a.py', which is missing",
    ),
    Case(
        title="a wheel with a model that is named as a shipped one",
        command=ADD,
        damage=wheel(names=("match-en",)),
        said="match-en is the name of a model of softquery, which would be taken in its place; "
        "choose another name with --name",
    ),
    Case(
        title="a wheel with a damaged model beside a sound one",
        command=ADD,
        damage=wheel(put("acme_models/two/config.json", b"{}"), names=("one", "two")),
        said="acme.whl: two/config.json: bundle_version must be a whole number, got None",
    ),
    Case(
        title="one name for several models",
        command=f"{ADD} --name faq",
        damage=wheel(names=("one", "two")),
        said="acme.whl: holds several models (one, two); --name is for a single one",
    ),
    Case(
        title="a hub without an owner",
        command="models add hub:faq",
        said="expected hub:OWNER/NAME or hub:OWNER/NAME@REVISION, got 'hub:faq'",
    ),
    Case(
        title="a hub's name that leads elsewhere",
        command="models add hub:../../etc/passwd",
        said="expected hub:OWNER/NAME or hub:OWNER/NAME@REVISION, got 'hub:../../etc/passwd'",
    ),
    Case(
        title="nothing to add",
        command="models add",
        said=f"missing argument '{ANY}'; see softquery models add --help",
    ),
]

REMOVE_MODELS = [
    Case(
        title="a shipped model",
        command="models remove match-en",
        said="match-en is part of softquery and cannot be removed by itself",
    ),
    Case(
        title="a name that no model has",
        command="models remove fqa",
        damage=own("faq"),
        said=f"no model called 'fqa' in {ANY}home/models; there are: faq",
    ),
    Case(
        title="a path",
        command="models remove ../../data",
        said=f"no model called '../../data' in {ANY}home/models; there are: none",
    ),
]

PACK_MODELS = [
    Case(
        title="a folder that is not there",
        command="models pack models/none",
        said="models/none: no such model folder",
    ),
    Case(
        title="a file of the bundle missing",
        command="models pack model",
        damage=gone("model/metrics.json"),
        said="model: incomplete model folder, metrics.json missing",
    ),
    Case(
        title="a file that no bundle holds",
        command="models pack model",
        damage=file("model/notes.docx", b"PK"),
        said="model/notes.docx: is no file of a bundle",
    ),
    Case(
        title="the name of a shipped model",
        command="models pack model --name nli-en",
        said="nli-en is the name of a model of softquery, which would be taken in its place; "
        "choose another name with --name",
    ),
    Case(
        title="a version that pip does not know",
        command="models pack model --version v1",
        said="'v1' is no version that pip knows, such as 1.0 or 2.1.post1; see --version",
    ),
    Case(
        title="a package of ours",
        command="models pack model --package SoftQuery_Models",
        said="a package cannot be called 'SoftQuery_Models'; see --package",
    ),
    Case(
        title="a file in place of the output folder",
        command="models pack model --output test.tsv",
        said="test.tsv: cannot be written (File exists)",
    ),
]
