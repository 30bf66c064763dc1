"""Rows as pictures."""

import io

import numpy as np
from PIL import Image

from s3c2.report.pictures import strip_png


def read(png):
    return np.asarray(Image.open(io.BytesIO(png)))


def test_strip_keeps_pixels_and_leaves_gaps():
    images = np.stack([np.zeros((8, 8)), np.ones((8, 8))])
    strip = read(strip_png(images))  # red, green, blue, opacity
    assert strip.shape == (8, 8 + 1 + 8, 4)
    assert strip[0, :8].tolist() == [[0, 0, 0, 255]] * 8
    assert strip[0, 8].tolist() == [0, 0, 0, 0]
    assert strip[0, 9:].tolist() == [[255, 255, 255, 255]] * 8


def test_values_outside_zero_one_are_stretched():
    assert read(strip_png(np.array([[[-2.0, 2.0]]])))[0, :, 0].tolist() == [0, 255]


def test_large_colour_pictures_are_made_smaller():
    images = np.full((2, 500, 400, 3), 0.2)
    images[..., 0] = 1
    strip = read(strip_png(images))
    assert strip.shape[0] <= 2 * 96
    assert strip[0, 0].tolist() == [255, 51, 51, 255]
