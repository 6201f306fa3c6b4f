"""From a file of any format that Pillow reads to pixels as a person would see them."""

from __future__ import annotations

import io
import stat
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from drurank.errors import InputError

RUN_PROGRAMS = {"EPS", "WMF", "GRIB", "BUFR", "HDF5", "MPEG", "FPX", "MIC"}
"""Formats that are given to another program, or of which only the head is read."""
DEEP = 257.0
"""Steps of 16 bits that are one of 8."""
LONGEST = 16
"""Times that a picture may be longer than wide to be resized as a whole before its middle is cut out."""
WHITE = (255, 255, 255, 255)


def read_picture(content: str | Path | bytes) -> Image.Image:
    """A picture in RGB, as a viewer shows it.

    It is turned as its EXIF orientation says. Transparent parts lie on white. Of an animation, the first frame is
    taken. 16-bit greys are scaled from 0 to 65535 to 0 to 255; grey becomes three equal channels.

    Args:
        content: path of a file, or what it holds.

    Raises:
        InputError: saying what is wrong with it, without its name.
    """
    with opened(content) as picture:
        try:
            picture.load()
            turned = ImageOps.exif_transpose(picture)
        except Exception as error:  # each format's reader has its own
            raise InputError(_broken(error)) from error
        return _rgb(turned)


def opened(content: str | Path | bytes) -> Image.Image:
    """A picture of which only the head is read yet.

    Args:
        content: as of ``read_picture``.

    Raises:
        InputError: likewise.
    """
    if isinstance(content, bytes):
        if not content:
            raise InputError("is empty")
    else:
        _refuse_other(Path(content))
    try:
        picture = Image.open(io.BytesIO(content) if isinstance(content, bytes) else content, formats=formats())
    except UnidentifiedImageError as error:
        raise InputError("is not a picture, or of a format that cannot be read") from error
    except Image.DecompressionBombError as error:
        most = 2 * (Image.MAX_IMAGE_PIXELS or 0)
        raise InputError(f"would have more than {most:,} pixels; make it smaller") from error
    except Exception as error:
        raise InputError(_broken(error)) from error
    if picture.mode == "F":
        picture.close()
        raise InputError("holds floats, whose range is not known; save it with 8 or 16 bits")
    return picture


def _refuse_other(file: Path) -> None:
    """Refuse what is no file with something in it."""
    try:
        found = file.stat()
    except FileNotFoundError as error:
        raise InputError(_not_found(file)) from error
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be opened ({error.strerror if isinstance(error, OSError) else error})") from error
    if not stat.S_ISREG(found.st_mode):
        raise InputError("is not a file")
    if found.st_size == 0:
        raise InputError("is empty (0 bytes)")


def _not_found(file: Path) -> str:
    """What is said of a file that is not there, though one may be whose name only looks the same."""
    for form in ("NFC", "NFD"):
        name = unicodedata.normalize(form, file.name)
        if name != file.name and file.with_name(name).exists():
            return f"is not found, though {name!a} is, the same name in another Unicode form; rename one of them"
    return "is not found"


def squared(picture: Image.Image, side: int) -> np.ndarray:
    """The middle of a picture, uint8 ``[3, side, side]``, after its shorter side is made as long.

    The same as ``Resize(side)`` and ``CenterCrop(side)`` of torchvision, with its bilinear filter.
    """
    width, height = picture.size
    shorter = min(width, height)
    size = (side * width // shorter, side * height // shorter)
    left, top = (round((length - side) / 2) for length in size)
    if max(size) > LONGEST * side:  # which would take memory for what is cut off
        across, down = width / size[0], height / size[1]
        box = (left * across, top * down, min((left + side) * across, width), min((top + side) * down, height))
        cut = picture.resize((side, side), Image.Resampling.BILINEAR, box)
    else:
        resized = picture if size == picture.size else picture.resize(size, Image.Resampling.BILINEAR)
        cut = resized.crop((left, top, left + side, top + side))
    return np.ascontiguousarray(np.asarray(cut).transpose(2, 0, 1))


def _rgb(picture: Image.Image) -> Image.Image:
    mode = picture.mode
    if mode.startswith("I"):
        return _from_deep(np.asarray(picture).astype(np.int64), picture.info.get("transparency"))
    if mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in picture.info:
        seen = picture.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", seen.size, WHITE), seen).convert("RGB")
    return picture if mode == "RGB" else picture.convert("RGB")


def _from_deep(values: np.ndarray, transparent: Any) -> Image.Image:
    """Greys of up to 16 bits in RGB; of one value a PNG may say that it is transparent."""
    least, most = int(values.min()), int(values.max())
    if least < 0 or most > 65535:
        raise InputError(f"holds numbers from {least} to {most}, beyond 16 bits; save it with 8 or 16 bits")
    grey = np.round(values / DEEP).astype(np.uint8)
    if isinstance(transparent, int):
        grey[values == transparent] = WHITE[0]
    return Image.fromarray(grey).convert("RGB")


def _broken(error: Exception) -> str:
    said = " ".join(str(error).split())[:120]
    return f"is broken ({said or type(error).__name__})"


@cache
def formats() -> list[str]:
    """Names of the formats that are read, as Pillow calls them."""
    Image.init()
    return [name for name in Image.OPEN if name not in RUN_PROGRAMS]
