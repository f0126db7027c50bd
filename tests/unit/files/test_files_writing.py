"""Files and folders appear whole or not at all."""

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from softquery.errors import InputError
from softquery.files import (
    atomic_folder,
    open_text,
    write_atomically,
    write_bytes,
    write_json,
    write_text,
)

needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 KB that fills up."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", str(folder)], capture_output=True, check=True)


def names_in(folder):
    return sorted(os.listdir(folder))


def test_text_and_bytes_are_written(tmp_path):
    write_text(tmp_path / "a.txt", "é\n")
    write_bytes(tmp_path / "a.bin", b"\0\xff")
    assert (tmp_path / "a.txt").read_bytes() == "é\n".encode()
    assert (tmp_path / "a.bin").read_bytes() == b"\0\xff"
    assert names_in(tmp_path) == ["a.bin", "a.txt"]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2"])
def test_compressed_text_comes_back_and_is_reproducible(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    text = "".join(f"zeile {n} größer\n" for n in range(5000))
    write_text(path, text)
    with open_text(path) as handle:
        assert handle.read() + "\n" == text
    first = path.read_bytes()
    write_text(path, text)
    assert path.read_bytes() == first
    assert (len(first) < len(text)) == bool(suffix)


def test_json_is_readable_and_strict(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"label": "蕴含", "share": 0.5})
    assert path.read_text() == '{\n  "label": "蕴含",\n  "share": 0.5\n}\n'
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(path, {"share": float("nan")})
    assert json.loads(path.read_text())["share"] == 0.5


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_failure_keeps_the_old_file_and_leaves_nothing(tmp_path, failure, name):
    path = tmp_path / name
    write_text(path, "old")
    before = path.read_bytes()

    def write():
        with write_atomically(path) as handle:
            handle.write("new" * 100_000)
            raise failure

    with pytest.raises(failure):
        write()
    assert path.read_bytes() == before
    assert names_in(tmp_path) == [name]


def test_file_appears_only_at_the_end(tmp_path):
    path = tmp_path / "a.txt"
    with write_atomically(path) as handle:
        handle.write("new")
        handle.flush()
        assert not path.exists()
    assert path.read_text() == "new"


def test_unknown_mode_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r'mode must be "w" or "wb", got \'a\''):
        write_atomically(tmp_path / "a.txt", "a")


@needs_posix
def test_mode_of_the_file_is_kept_and_else_follows_the_umask(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "new")
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o600)
    write_text(path, "newer")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@needs_posix
def test_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_refusals_of_the_disk_are_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    for path, reason in [
        (tmp_path / "none" / "a.txt", r"a\.txt: cannot be written \(no such folder\)"),
        (tmp_path, r"cannot be written \(is a folder\)"),
        (tmp_path / "file" / "a.txt", r"\(a part of its path is a file, not a folder\)"),
        (tmp_path / ("x" * 300), r"\(the name is too long\)"),
    ]:
        with pytest.raises(InputError, match=reason) as caught:
            write_text(path, "text")
        assert caught.value.source == str(path)
        assert "\n" not in str(caught.value)
    assert names_in(tmp_path) == ["file"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("mode", ["w", "wb"])
def test_full_device_is_one_line(mode):
    contents = "x" * 100_000 if mode == "w" else b"x" * 100_000
    with (
        pytest.raises(InputError, match=r"/dev/full: cannot be written \(no space left on"),
        write_atomically("/dev/full", mode) as handle,
    ):
        handle.write(contents)
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


@needs_posix
def test_pipe_is_written_directly(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join(timeout=10)
    assert received == ["through"]
    assert names_in(tmp_path) == ["pipe"]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz"])
def test_full_disk_keeps_the_old_file(small_disk, name):
    path = small_disk / name
    write_text(path, "old")
    before = path.read_bytes()
    match = rf"{name}: cannot be written \(no space left on the disk\)"

    def write():
        with write_atomically(path) as handle:
            for _ in range(200):
                handle.write(os.urandom(2048).hex())

    with pytest.raises(InputError, match=match):
        write()
    assert path.read_bytes() == before
    assert names_in(small_disk) == [name]


def test_full_disk_at_the_last_flush_is_told(small_disk):
    path = small_disk / "a.txt"
    write_bytes(small_disk / "filler", b"x" * (56 << 10))
    with pytest.raises(InputError, match="no space left on the disk"):
        write_bytes(path, b"y" * 16_000)
    assert names_in(small_disk) == ["filler"]


def test_full_disk_inside_a_folder_is_told(small_disk):
    with (
        pytest.raises(InputError, match=r"out: cannot be written \(no space left on the disk\)"),
        atomic_folder(small_disk / "out") as folder,
    ):
        (folder / "model.bin").write_bytes(b"x" * (256 << 10))
    assert names_in(small_disk) == []


def test_read_only_disk_is_told(small_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(InputError, match=r"cannot be written \(the disk is read-only\)"):
        write_text(small_disk / "a.txt", "text")


def test_other_peoples_faults_keep_their_own_error(tmp_path):
    with pytest.raises(FileNotFoundError), write_atomically(tmp_path / "a.txt"):
        (tmp_path / "elsewhere").read_text()
    with pytest.raises(OSError, match="mine") as caught, write_atomically(tmp_path / "a.txt"):
        raise OSError(errno.ECONNRESET, "mine")
    assert not isinstance(caught.value, InputError)
    assert names_in(tmp_path) == []


KILLED = """
import sys
from softquery.files import write_atomically
with write_atomically(sys.argv[1]) as handle:
    handle.write("new" * 1_000_000)
    handle.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


@needs_posix
def test_killed_writer_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
    assert path.read_text() == "old"
    write_text(path, "newer")
    assert path.read_text() == "newer"


def test_of_two_writers_one_wins_whole(tmp_path):
    path = tmp_path / "a.txt"
    contents = ["a" * 200_000, "b" * 300_000]
    barrier = threading.Barrier(2)

    def write(text):
        for _ in range(10):
            barrier.wait()
            with write_atomically(path) as handle:
                for start in range(0, len(text), 10_000):
                    handle.write(text[start : start + 10_000])
            seen.add(path.read_text())

    seen = set()
    threads = [threading.Thread(target=write, args=(text,)) for text in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen <= set(contents)
    assert names_in(tmp_path) == ["a.txt"]


def test_folder_appears_only_when_complete(tmp_path):
    target = tmp_path / "out"
    with atomic_folder(target) as folder:
        assert folder.parent == tmp_path.resolve()
        (folder / "deep").mkdir()
        (folder / "deep" / "a.txt").write_text("x")
        assert not target.exists()
    assert (target / "deep" / "a.txt").read_text() == "x"
    assert names_in(tmp_path) == ["out"]


def test_failed_folder_leaves_nothing(tmp_path):
    def build():
        with atomic_folder(tmp_path / "out") as folder:
            (folder / "a.txt").write_text("x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        build()
    assert names_in(tmp_path) == []


def test_standing_folder_is_refused_before_any_work(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("precious")
    manager = atomic_folder(tmp_path / "out")
    with pytest.raises(InputError, match=r"out: exists already; choose another folder"):
        manager.__enter__()
    assert (tmp_path / "out" / "mine.txt").read_text() == "precious"
    assert names_in(tmp_path) == ["out"]


def test_folder_that_appears_meanwhile_is_not_overwritten(tmp_path):
    def build():
        with atomic_folder(tmp_path / "out") as folder:
            (folder / "a.txt").write_text("late")
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "a.txt").write_text("early")

    with pytest.raises(InputError, match="exists already"):
        build()
    assert (tmp_path / "out" / "a.txt").read_text() == "early"
    assert names_in(tmp_path) == ["out"]


def test_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "out").mkdir()
    with atomic_folder(tmp_path / "out") as folder:
        (folder / "a.txt").write_text("x")
    assert names_in(tmp_path / "out") == ["a.txt"]
    assert names_in(tmp_path) == ["out"]


def test_replaced_folder_is_untouched_until_the_end(tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    (target / "old.txt").write_text("old")
    with pytest.raises(RuntimeError), atomic_folder(target, replace=True):
        raise RuntimeError
    assert names_in(target) == ["old.txt"]
    with atomic_folder(target, replace=True) as folder:
        (folder / "new.txt").write_text("new")
        assert names_in(target) == ["old.txt"]
    assert names_in(target) == ["new.txt"]
    assert names_in(tmp_path) == ["out"]


def test_file_in_a_folders_place_is_refused(tmp_path):
    (tmp_path / "out").write_text("x")
    for replace in (False, True):
        manager = atomic_folder(tmp_path / "out", replace=replace)
        with pytest.raises(InputError, match="is a file, expected a new folder"):
            manager.__enter__()
    with pytest.raises(InputError, match=r"cannot be written \(no such folder\)"):
        atomic_folder(tmp_path / "none" / "out").__enter__()
