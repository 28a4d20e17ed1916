"""Fetching the MNIST files: streamed, checked against their SHA-256, and never left half-written."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from reluflow.data.atomic import replacing
from reluflow.data.mnist import mnist_folder
from reluflow.errors import DownloadError, InvalidInputError

BASE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"

DIGESTS: Mapping[str, str] = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}

_CHUNK = 1 << 16
_LARGEST = 64 * 2**20  # the largest file has 9.9 MB; a server that sends far more is not serving MNIST


def download_mnist(
    folder: str | os.PathLike[str] | None = None,
    *,
    base_url: str = BASE_URL,
    digests: Mapping[str, str] = DIGESTS,
    timeout: float = 30.0,
) -> tuple[Path, ...]:
    """Fetch the four MNIST files into a folder; those already there and whole are left alone.

    Each file is streamed to a temporary one, whose SHA-256 must match before it takes its place: an interrupted call
    leaves complete files only and can simply be repeated.

    Parameters
    ----------
    folder
        Where the files go; by default `mnist_folder()`.
    base_url
        What the file names are appended to; any mirror of the standard files will do.
    digests
        SHA-256 in hexadecimal for each file name.
    timeout
        Seconds without an answer after which to give up.

    Returns
    -------
    tuple of Path
        The files, in the order of `digests`.

    Raises
    ------
    DownloadError
        In one sentence, when a file cannot be fetched or written or is not the file it should be.
    """
    if not base_url.startswith(("https://", "http://")):
        raise InvalidInputError(f"`base_url` must start with https:// or http://, got {base_url!r}.")
    target = mnist_folder(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(
            f"`{target}` could not be made a folder for the data: {error.strerror or error}."
        ) from error
    return tuple(
        _fetch(base_url.rstrip("/") + "/" + name, target / name, digest, timeout) for name, digest in digests.items()
    )


def _fetch(url: str, path: Path, digest: str, timeout: float) -> Path:
    if path.is_file() and _sha256(path) == digest:
        return path
    try:
        with urllib.request.urlopen(url, timeout=timeout) as response, replacing(path) as handle:
            announced = response.headers.get("Content-Length")
            found, size = hashlib.sha256(), 0
            while chunk := response.read(_CHUNK):
                size += len(chunk)
                if size > _LARGEST:
                    raise DownloadError(f"{url} sent more than {_LARGEST:,} bytes, which no MNIST file has.")
                found.update(chunk)
                handle.write(chunk)
            if announced is not None and announced.isdigit() and int(announced) != size:
                raise DownloadError(f"{url} broke off after {size:,} of {int(announced):,} bytes; try again.")
            if found.hexdigest() != digest:
                raise DownloadError(
                    f"{url} must have the SHA-256 {digest}, got {found.hexdigest()} ({size:,} bytes): it is not "
                    "the standard file and was not kept; try another `base_url`."
                )
    except DownloadError:
        raise
    except urllib.error.HTTPError as error:
        raise DownloadError(f"{url} could not be fetched: the server answered {error.code} {error.reason}.") from error
    except urllib.error.URLError as error:
        raise DownloadError(
            f"{url} could not be fetched: {error.reason}; put the file into `{path.parent}` by hand, "
            "or use the bundled images."
        ) from error
    except (http.client.HTTPException, ValueError) as error:
        raise DownloadError(f"{url} could not be fetched: {error!r}.") from error
    except OSError as error:
        raise DownloadError(f"{url} could not be fetched into `{path}`: {error.strerror or error}.") from error
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
