"""Forged archives: whatever is changed in a wheel, it opens as it was or is refused in one line."""

import random
import struct
import zipfile
from pathlib import Path

import pytest

from forged_wheels import RECORD, wheel_files, write_wheel
from softquery.errors import BundleError
from softquery.sharing.wheel_reading import LARGEST_DIRECTORY, open_wheel


@pytest.fixture
def wheel(tmp_path) -> Path:
    """A wheel of a folder that looks like a bundle from outside."""
    bundle = tmp_path / "bundle"
    (bundle / "onnx").mkdir(parents=True)
    for name in ("config.json", "model.safetensors", "README.md", "onnx/encode.onnx"):
        (bundle / name).write_bytes(name.encode() * 20)
    return write_wheel(tmp_path / "acme.whl", wheel_files(bundle))


def read(path: Path) -> dict[str, bytes]:
    """The files of the model of a wheel."""
    with open_wheel(path) as opened:
        assert opened.label == "acme-models 1.0"
        return {inner: opened.archive.read(entry) for inner, entry in opened.models["faq"].items()}


def test_changed_bytes_are_harmless_or_refused(wheel):
    sound, whole = read(wheel), wheel.read_bytes()
    chance = random.Random(1)
    lines = []
    for _ in range(1500):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        if chance.random() < 0.2:
            del content[chance.randrange(len(content)) :]
        wheel.write_bytes(content)
        try:
            found = read(wheel)
        except BundleError as error:
            lines.append(str(error))
        else:
            assert found == sound
    assert len(lines) > 500
    assert [line for line in lines if not line.startswith(f"{wheel}: ") or "\n" in line] == []


def test_a_list_of_files_that_is_endless_is_not_read(wheel):
    """The end of the archive says that its list of files has gigabytes, and there are many."""
    content = bytearray(wheel.read_bytes())
    end = content.rindex(b"PK\x05\x06")
    start = struct.unpack("<I", content[end + 16 : end + 20])[0]
    filling = bytes(LARGEST_DIRECTORY + 1)
    content[end + 12 : end + 16] = struct.pack("<I", end - start + len(filling))
    content[end:end] = filling
    wheel.write_bytes(content)
    with pytest.raises(BundleError, match="its list of files is too long$"):
        read(wheel)


def test_many_files_that_unpack_to_much_are_refused(wheel, monkeypatch):
    """Each of them is within its limit; all of them together are not."""
    files = {f"acme_models/faq/training/{number}.txt": bytes(60_000) for number in range(50)}
    write_wheel(wheel, {**wheel_files(wheel.parent / "bundle"), **files})
    monkeypatch.setattr("softquery.sharing.wheel_reading.LARGEST_WHEEL", 1_000_000)
    with pytest.raises(BundleError, match="unpacks to more than 1,000,000 bytes$"):
        read(wheel)


def test_a_wheel_of_another_compression_is_refused(wheel):
    files = wheel_files(wheel.parent / "bundle")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    with pytest.raises(BundleError, match="is encrypted, or packed in a way of no wheel$"):
        read(wheel)


@pytest.mark.parametrize("record", [b"", b'"', b"\0", b"a,b\n" * 10, b"\xff"])
def test_a_broken_record_is_refused(wheel, record):
    write_wheel(wheel, {**wheel_files(wheel.parent / "bundle"), RECORD: record})
    with pytest.raises(BundleError, match="RECORD"):
        read(wheel)
