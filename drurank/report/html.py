"""Pages of HTML that need nothing beside them: any template of the package, with its pictures inline."""

from __future__ import annotations

import base64
import datetime
import io
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drurank.files import replace_file
from drurank.report.packed import Packed
from drurank.terminal import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def render_page(file: Path, template: str, **content: Any) -> None:
    """Write a page, in which all that is text stands as text.

    Args:
        file: where to.
        template: name of its file, which extends ``base.html.j2``.
        content: what the template shows; of every page ``title``, ``summary`` (sentences) and ``made`` (names and
            values of how it was made).
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # here, since few commands need it

    environment = Environment(
        loader=PackageLoader("drurank.report", "."),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.globals["packed"] = Packed()
    text = environment.get_template(template).render(**content)
    replace_file(file, lambda path: path.write_text(text, encoding="utf-8"))


def _visible(value: Any) -> Any:
    """Any text that the page shows, wherever it comes from; what is HTML already was shown before."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def inline_picture(figure: Figure) -> str:
    """A picture as a page holds it, in base64."""
    from drurank.report.pictures import save_picture  # here, since matplotlib is slow to import

    buffer = io.BytesIO()
    save_picture(figure, buffer)
    return inline_png(buffer.getvalue())


def inline_png(content: bytes) -> str:
    """The content of a picture's file as a page holds it."""
    return base64.b64encode(content).decode("ascii")


def made_now() -> tuple[str, str]:
    """The line of a page that says when, and with what."""
    now = datetime.datetime.now(tz=datetime.UTC)
    return "made", f"{now:%Y-%m-%d %H:%M} UTC, drurank {version('drurank')}"
