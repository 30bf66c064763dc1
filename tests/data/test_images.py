"""Pictures of all kinds are scaled rightly, or refused with a remedy before they are decoded."""

import os
import struct
import sys

import numpy as np
import pytest
from PIL import Image

from s3c2.data import prepare
from s3c2.errors import DataError


@pytest.mark.parametrize("name", ["a.tif", "a.png", "a.pgm"])
def test_sixteen_bits_span_the_whole_range(tmp_path, name):
    pixels = np.array([[0, 32896, 65535]] * 2, dtype=np.uint16)
    if name == "a.pgm":
        content = b"P5 3 2 65535 " + pixels.astype(">u2").tobytes()
        (tmp_path / name).write_bytes(content)
    else:
        Image.fromarray(pixels).save(tmp_path / name)
    np.testing.assert_allclose(prepare(tmp_path)[0].X, [[[0, 128 / 255, 1]] * 2], atol=1e-6)


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_thirty_two_bits_are_refused(tmp_path, dtype):
    Image.fromarray(np.arange(6, dtype=dtype).reshape(2, 3)).save(tmp_path / "a.tif")
    with pytest.raises(DataError, match=r"a\.tif: this picture has 32 bits .* 8 or 16 bits"):
        prepare(tmp_path)


@pytest.mark.parametrize("size", [(10_000, 5_001), (13_000, 13_000), (30_000, 30_000)])
def test_huge_pictures_are_refused_before_they_are_decoded(tmp_path, size):
    Image.new("L", (2, 2)).save(tmp_path / "a.bmp")
    content = bytearray((tmp_path / "a.bmp").read_bytes())
    content[18:26] = struct.pack("<ii", *size)  # there are no pixels to decode
    (tmp_path / "a.bmp").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.bmp: .* too large .*50,000,000 .* smaller"):
        prepare(tmp_path)


def test_changed_bytes(tmp_path):
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (6, 7, 3), dtype=np.uint8)).save(tmp_path / "a.png")
    good = (tmp_path / "a.png").read_bytes()
    for _ in range(200):
        content = bytearray(good)
        content[rng.integers(0, len(good))] = rng.integers(0, 256)
        (tmp_path / "a.png").write_bytes(content)
        try:
            said = "a.png" * prepare(tmp_path)[0].n_rows
        except DataError as error:
            said = str(error)
        assert said.count("a.png") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes only here")
def test_names_that_are_not_utf8_are_refused_before_training(tmp_path):
    Image.new("L", (2, 2)).save(tmp_path / "a.png")
    os.rename(tmp_path / "a.png", os.fsencode(tmp_path) + b"/\xff.png")
    with pytest.raises(DataError, match=r"'\\udcff\.png' is not UTF-8. Rename"):
        prepare(tmp_path)
