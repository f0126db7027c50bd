"""Wheels of models as strangers make them: sound ones, and ones with anything changed in them."""

import hashlib
import stat
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path

ABOUT = "acme_models-1.0.dist-info"
RECORD = f"{ABOUT}/RECORD"
METADATA = f"{ABOUT}/METADATA"
POINTS = f"{ABOUT}/entry_points.txt"

Files = dict[str, bytes]


def wheel_files(bundle: Path, *names: str) -> Files:
    """The files of a sound wheel with a bundle, under one name or several; its RECORD aside."""
    files = {
        "acme_models/__init__.py": b"",
        METADATA: b"Metadata-Version: 2.1\nName: acme-models\nVersion: 1.0\n",
        f"{ABOUT}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        POINTS: b"[softquery.models]\nacme-models = acme_models\n",
    }
    for path in sorted(bundle.rglob("*")):
        inner = path.relative_to(bundle).as_posix()
        if path.is_file() and not inner.startswith("training/"):
            for name in names or ("faq",):
                files[f"acme_models/{name}/{inner}"] = path.read_bytes()
    return files


def record(files: Files) -> bytes:
    """The list of a wheel's files with their hashes."""
    rows = [f"{name},sha256={_hash(content)},{len(content)}" for name, content in files.items()]
    return "\n".join([*rows, f"{RECORD},,", ""]).encode()


def _hash(content: bytes) -> str:
    return urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def write_wheel(path: Path, files: Files, *, links: tuple[str, ...] = ()) -> Path:
    """Write an archive; a RECORD is added unless there is one. Some files may be links."""
    listed = files if RECORD in files else {**files, RECORD: record(files)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in listed.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            kind = stat.S_IFLNK if name in links else stat.S_IFREG
            entry.external_attr = (kind | 0o644) << 16
            archive.writestr(entry, content)
    return path
