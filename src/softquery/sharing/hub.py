"""Bundles on Hugging Face's hub: only the files of a bundle are fetched, at one commit.

The only module that fetches anything, and only where `hub:OWNER/NAME` is asked for. Where the hub
is, and who asks, is told by the variables that all programs of Hugging Face read: `HF_ENDPOINT`,
`HF_TOKEN`, `HF_HUB_OFFLINE`.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from softquery import __version__
from softquery.errors import BundleError, MissingExtra
from softquery.sharing.bundle_files import MOST_FILES, check_size, largest

PREFIX = "hub:"
_PLACE = re.compile(
    r"hub:(?P<repo>[A-Za-z0-9][\w.-]{0,95}/(?P<name>[A-Za-z0-9][\w.-]{0,95}))"
    r"(?:@(?P<revision>[A-Za-z0-9][\w./-]{0,199}))?",
    re.ASCII,
)
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class HubPlace:
    """A repository of models on the hub.

    Attributes:
        repo: `OWNER/NAME`.
        name: The second part, by which the model is called.
        revision: A branch, a tag or a commit; None for the main branch.
    """

    repo: str
    name: str
    revision: str | None

    def __str__(self) -> str:
        return f"{PREFIX}{self.repo}" + ("" if self.revision is None else f"@{self.revision}")


def parse_place(source: str) -> HubPlace:
    """Read `hub:OWNER/NAME` or `hub:OWNER/NAME@REVISION`.

    >>> parse_place("hub:acme/faq-en@v2")
    HubPlace(repo='acme/faq-en', name='faq-en', revision='v2')
    """
    found = _PLACE.fullmatch(source)
    if found is None or ".." in source:
        raise BundleError(
            f"expected hub:OWNER/NAME or hub:OWNER/NAME@REVISION, got {source!r:.200}"
        )
    return HubPlace(found["repo"], found["name"], found["revision"])


def fetch(place: HubPlace, folder: Path) -> HubPlace:
    """Fetch the files of a bundle into an empty folder.

    Returns:
        The place with the commit that was fetched.

    Raises:
        BundleError: What the hub refused, or what it holds that no bundle can.
        MissingExtra: `huggingface_hub` is not installed.
    """
    try:
        import huggingface_hub as hub
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ImportError:
        raise MissingExtra("hub", needed_for=f"fetching {place}") from None

    if not sys.stderr.isatty():
        disable_progress_bars()
    api = hub.HfApi(library_name="softquery", library_version=__version__)
    with _hub_faults(place):
        info = api.model_info(place.repo, revision=place.revision, files_metadata=True)
    if not _COMMIT.fullmatch(info.sha or ""):
        raise BundleError(f"{place}: the hub names no commit of it")
    sizes = {each.rfilename: each.size for each in info.siblings or []}
    try:
        wanted = _wanted(sizes)
    except BundleError as error:
        raise BundleError(f"{place}: {error}") from None
    for name in wanted:
        with _hub_faults(place):
            api.hf_hub_download(place.repo, name, revision=info.sha, local_dir=folder)
    return HubPlace(place.repo, place.name, info.sha)


def _wanted(sizes: dict[str, int | None]) -> list[str]:
    """The files of a bundle among those of a repository, whose others stay where they are."""
    wanted = []
    for name, size in sorted(sizes.items()):
        try:
            if largest(name) is None:
                continue
        except BundleError:
            continue
        try:
            check_size(name, size or 0)
        except BundleError as error:
            raise BundleError(f"{name} {error}") from None
        wanted.append(name)
    if "config.json" not in wanted or "model.safetensors" not in wanted:
        raise BundleError("is no bundle: config.json or model.safetensors is missing")
    if len(wanted) > MOST_FILES:
        raise BundleError(f"holds more than {MOST_FILES:,} files")
    return wanted


@contextmanager
def _hub_faults(place: HubPlace) -> Iterator[None]:
    """Around a call of the client alone: say in one line what went wrong."""
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError:
        reason = "its owner grants access one by one: ask on its page, then set HF_TOKEN"
    except errors.RepositoryNotFoundError:
        reason = "no such repository, or a private one: set HF_TOKEN to a token that may read it"
    except errors.RevisionNotFoundError:
        reason = "the repository has no such revision"
    except errors.OfflineModeIsEnabled:
        reason = "the hub is not asked, because HF_HUB_OFFLINE is set"
    except errors.HFValidationError as error:
        reason = f"no name of a repository ({_first_line(error)})"
    except errors.HfHubHTTPError as error:
        reason = f"the hub answered with an error ({_first_line(error)})"
    except Exception as error:  # of the disk, or of the transport, which depends on the version
        reason = f"cannot be fetched ({_first_line(error)})"
    else:
        return
    raise BundleError(f"{place}: {reason}")


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[0][:300]
