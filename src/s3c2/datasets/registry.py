"""The files of each data set: size, SHA-256, and the public places that serve them.

A file's name is its path below ``S3C2_DATA`` and below the cache folder alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class DataFile:
    """One file.

    Attributes
    ----------
    name : data set and file name, as in "letters/letter-recognition.data"
    size : in bytes
    sha256 : in hexadecimal
    urls : mirrors, in the order in which they are tried; empty where nobody serves the file
    """

    name: str
    size: int
    sha256: str
    urls: tuple[str, ...] = ()

    @property
    def of(self) -> str:
        """The data set that it belongs to, whose name is also that of the folder."""
        return self.name.split("/")[0]

    @property
    def base(self) -> str:
        """The name without the folder."""
        return self.name.split("/")[-1]

    def damage(self, content: bytes) -> str | None:
        """What is wrong with the content of such a file, or None."""
        if len(content) != self.size:
            return f"it has {len(content):,} bytes instead of {self.size:,}"
        if hashlib.sha256(content).hexdigest() != self.sha256:
            return "its SHA-256 checksum is not that of the original"
        return None


Registry = Mapping[str, tuple[DataFile, ...]]


def _idx_files(folder: str, mirrors: tuple[str, ...], *rows: tuple[str, int, str]) -> Registry:
    return {
        folder: tuple(
            DataFile(f"{folder}/{base}", size, sha256, tuple(m + base for m in mirrors))
            for base, size, sha256 in rows
        )
    }


FILES: Registry = {
    **_idx_files(
        "mnist",
        (
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
        (
            "train-images-idx3-ubyte.gz",
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        (
            "train-labels-idx1-ubyte.gz",
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
        (
            "t10k-images-idx3-ubyte.gz",
            1_648_877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        (
            "t10k-labels-idx1-ubyte.gz",
            4_542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
    **_idx_files(
        "fashion-mnist",
        (
            "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        ),
        (
            "train-images-idx3-ubyte.gz",
            26_421_880,
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        ),
        (
            "train-labels-idx1-ubyte.gz",
            29_515,
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        ),
        (
            "t10k-images-idx3-ubyte.gz",
            4_422_102,
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        ),
        (
            "t10k-labels-idx1-ubyte.gz",
            5_148,
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
    ),
    "letters": (
        DataFile(
            "letters/letter-recognition.data",
            712_565,
            "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
            (
                "https://archive.ics.uci.edu/ml/machine-learning-databases/"
                "letter-recognition/letter-recognition.data",
            ),
        ),
    ),
    "reuters": (  # nobody serves it: without it the documents come from fetch_rcv1
        DataFile(
            "reuters/rcv1-four-roots.npz",
            9_343_144,
            "910b11fadb02cf2d7d350a96baf6705696235a2988de5ac2c486d22ac32dacbc",
        ),
    ),
    "digits": (),  # they come with scikit-learn
}

NAMES = tuple(FILES)
