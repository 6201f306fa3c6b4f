"""Pictures as a person would see them."""

import io
import os
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2

from drurank.errors import InputError
from drurank.images.decoding import read_picture, squared
from drurank.images.look import Look
from painting import noise


def encoded(picture, kind="PNG", **options):
    held = io.BytesIO()
    picture.save(held, kind, **options)
    return held.getvalue()


def pixels(content):
    picture = read_picture(content)
    assert picture.mode == "RGB"
    return np.asarray(picture)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "PPM", "GIF", "WEBP"])
def test_formats_without_loss_are_read_as_they_were_written(kind):
    one_colour = Image.new("RGB", (7, 5), (200, 100, 50))
    options = {"lossless": True} if kind == "WEBP" else {}
    assert (pixels(encoded(one_colour, kind, **options)) == (200, 100, 50)).all()


def test_grey_is_three_equal_channels():
    grey = np.arange(64, dtype=np.uint8).reshape(8, 8)
    assert (pixels(encoded(Image.fromarray(grey))) == grey[:, :, None]).all()


def test_16_bits_are_scaled_by_their_full_range():
    deep = np.array([[0, 257, 65535], [128 * 257, 128, 129]], dtype=np.uint16)
    assert pixels(encoded(Image.fromarray(deep)))[:, :, 0].tolist() == [[0, 1, 255], [128, 0, 1]]


def test_a_grey_of_16_bits_that_is_transparent_lies_on_white():
    deep = np.array([[0, 257, 300], [2570, 257, 65535]], dtype=np.uint16)
    content = encoded(Image.fromarray(deep))
    after_head = content.index(b"IDAT") - 4
    chunk = b"tRNS" + (257).to_bytes(2, "big")  # which makes 257 transparent, and not 300, whose 8 bits are the same
    chunk = (2).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big")
    seen = pixels(content[:after_head] + chunk + content[after_head:])
    assert seen[:, :, 0].tolist() == [[0, 255, 1], [10, 255, 255]]


def test_transparent_parts_lie_on_white():
    seen = np.zeros((1, 3, 4), dtype=np.uint8)
    seen[0, :, 0] = 200
    seen[0, :, 3] = [255, 0, 51]  # opaque, transparent, a fifth: 0.2 * 200 + 0.8 * 255 = 244, 0.8 * 255 = 204
    assert pixels(encoded(Image.fromarray(seen)))[0].tolist() == [[200, 0, 0], [255, 255, 255], [244, 204, 204]]


def test_a_colour_of_a_palette_that_is_transparent_lies_on_white():
    picture = Image.new("P", (2, 1))
    picture.putpalette([9, 9, 9, 200, 0, 0])
    picture.putdata([0, 1])
    assert pixels(encoded(picture, transparency=0))[0].tolist() == [[255, 255, 255], [200, 0, 0]]


def test_a_turned_picture_is_turned_back():
    upright = noise(4, wide=6)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by 90 degrees
    lying = Image.fromarray(np.rot90(upright).copy())
    assert (pixels(encoded(lying, exif=exif)) == upright).all()


def test_colours_for_print_become_those_of_a_screen():
    content = encoded(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "TIFF")
    assert (pixels(content) == (255, 0, 0)).all()


def test_of_an_animation_it_is_the_first_frame():
    first, second = (Image.new("RGB", (4, 4), colour) for colour in ("red", "blue"))
    assert (pixels(encoded(first, "GIF", save_all=True, append_images=[second])) == (255, 0, 0)).all()


@pytest.mark.parametrize(("high", "wide"), [(20, 20), (33, 20), (20, 47), (13, 90), (8, 9), (64, 63)])
@pytest.mark.parametrize("side", [8, 13, 20])
def test_squares_are_those_of_torchvision(high, wide, side):
    picture = Image.fromarray(noise(high, wide=wide))
    should = v2.Compose([v2.Resize(side), v2.CenterCrop(side), v2.PILToTensor()])(picture)
    assert torch.equal(torch.from_numpy(squared(picture, side)), should)


@pytest.mark.parametrize(("high", "wide"), [(4, 300), (300, 4), (9, 400), (10, 700)])
def test_the_middle_of_a_thin_picture_is_cut_out_before_it_is_resized(high, wide):
    picture = Image.fromarray(noise(high, wide=wide))
    should = v2.Compose([v2.Resize(8), v2.CenterCrop(8), v2.PILToTensor()])(picture)
    found = torch.from_numpy(squared(picture, 8))
    assert (found.int() - should.int()).abs().max() <= 1  # pixels are rounded


def test_a_thin_picture_takes_no_memory_for_what_is_cut_off():
    tracemalloc.start()
    squared(Image.new("RGB", (300_000, 1)), 256)
    assert tracemalloc.get_traced_memory()[1] < 2e7
    tracemalloc.stop()


def bomb(high=30_000, wide=30_000):
    """A PNG of a few bytes that says it has 9e8 pixels."""
    head = struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


BAD = {
    "nothing": (b"", "is empty"),
    "text": (b"hello, I am no picture", "is not a picture, or of a format that cannot be read"),
    "a table": (b"a,b\n1,2\n", "is not a picture"),
    "half a JPEG": (encoded(Image.fromarray(noise(64)), "JPEG")[:900], "is broken (image file is truncated"),
    "half a PNG": (encoded(Image.fromarray(noise(64)))[:900], "is broken"),
    "the head of a PNG": (b"\x89PNG\r\n\x1a\n", "is "),
    "half a GIF": (encoded(Image.fromarray(noise(64)), "GIF")[:1500], "is broken"),
    "half a WebP": (encoded(Image.fromarray(noise(64)), "WEBP")[:300], "is "),
    "a damaged PNG": (encoded(Image.fromarray(noise(64))).replace(b"IDAT", b"IDAT\x00\x01", 1), "is broken"),
    "a bomb": (bomb(), "would have more than 178,956,970 pixels; make it smaller"),
    "a large bomb": (bomb(2**31 - 1, 2**31 - 1), "would have more than"),
    "PostScript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n", "is not a picture"),
    "floats": (encoded(Image.fromarray(np.ones((4, 4), np.float32)), "TIFF"), "holds floats"),
    "32 bits": (
        encoded(Image.fromarray(np.full((4, 4), 70_000, np.int32)), "TIFF"),
        "holds numbers from 70000 to 70000, beyond 16 bits",
    ),
    "an SVG": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is not a picture"),
    "zeros": (bytes(5000), "is "),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_picture_is_said(name, tmp_path):
    content, said = BAD[name]
    file = tmp_path / "bad.png"
    file.write_bytes(content)
    for given in (content, file):
        with pytest.raises(InputError) as refused:
            read_picture(given)
        assert str(refused.value).startswith(said)
        assert "\n" not in str(refused.value)


def test_what_is_no_file_is_said(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    long = tmp_path / ("a" * 300 + ".png")
    for given, said in (
        (tmp_path / "none.png", "is not found"),
        (tmp_path, "is not a file"),
        (tmp_path / "pipe.png", "is not a file"),
        (tmp_path / "zero.png", "is not a file"),
        (long, "cannot be opened"),
    ):
        assert Look.at(str(given)).fault.startswith(said)
        with pytest.raises(InputError, match=said):
            read_picture(given)


def test_a_picture_of_one_pixel_is_one():
    assert squared(read_picture(encoded(Image.new("RGB", (1, 1), (9, 8, 7)))), 4)[:, 2, 2].tolist() == [9, 8, 7]
