"""What mkdocs does besides: pages from files at the top, links that leave the docs, formulas."""

from __future__ import annotations

import posixpath
import re
import sys
from html import escape, unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
from generated import command_line

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "about/changelog.md",
    "CONTRIBUTING.md": "about/contributing.md",
    "benchmarks/RESULTS.md": "about/measured.md",
}
"""Files outside of the docs that are pages of the site."""
DIALOG = 'data-md-component="search" role="dialog"'
"""The theme's own, which has no name."""
SHIM = "https://unpkg.com/iframe-worker/shim"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|mailto:|#)([^)\s]+)\)|(!\[[^\]]*\])\((?!https?:)([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
EMPTY_HEADER = re.compile(r"<th( [^>]*)?></th>")
FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)


def on_config(config: Any) -> Any:
    """Leave out the theme's page for links that lead nowhere, which works on a web server alone."""
    config.theme.static_templates.discard("404.html")
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from elsewhere."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=relinked(text, source)))
    files.append(File.generated(config, "reference/command_line.md", content=command_line()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Mend the links of a page of the docs."""
    if page.file.src_uri in (*PAGES.values(), "reference/command_line.md"):
        return markdown
    return relinked(markdown, f"docs/{page.file.src_uri}")


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Formulas as MathML, which browsers show without a script."""
    html = html.replace("<table>", '<div class="wide" tabindex="0"><table>').replace("</table>", "</table></div>")
    html = EMPTY_HEADER.sub(r"<td\1></td>", html)  # a header that says nothing is none
    html = html.replace("<pre>", '<pre tabindex="0">')  # which may scroll
    return FORMULA.sub(lambda found: _formula(unescape(found[2]), found[1] == "div"), html)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The search of a page that is opened from a folder needs no network either."""
    output = output.replace(DIALOG, f'{DIALOG} aria-label="Search"')
    return output.replace(SHIM, posixpath.relpath("site/search_offline.js", posixpath.dirname(page.url) or "."))


def relinked(text: str, source: str) -> str:
    """A file's text with links that lead from its page to other pages; those to other files become code.

    Args:
        text: in Markdown.
        source: path of the file from the top, with slashes.
    """
    parts = FENCE.split(text)
    return "".join(
        part if number % 2 else LINK.sub(lambda found: _link(found, source), part) for number, part in enumerate(parts)
    )


def _link(found: re.Match[str], source: str) -> str:
    label, target = (found[1], found[2]) if found[2] else (found[3], found[4])
    path, _, anchor = target.partition("#")
    place = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else source
    page = PAGES.get(place, place.removeprefix("docs/") if place.startswith("docs/") else None)
    if page is None:
        return (
            label
            if label.startswith("`") or not found[2]
            else f"`{place}`"
            if label in place
            else f"{label} (`{place}`)"
        )
    here = PAGES.get(source, source.removeprefix("docs/"))
    to = posixpath.relpath(page, posixpath.dirname(here) or ".") + (f"#{anchor}" if anchor else "")
    return f"[{label}]({to})" if found[2] else f"{label}({to})"


def _formula(latex: str, is_block: bool) -> str:
    latex = latex.strip().removeprefix(r"\(").removesuffix(r"\)").removeprefix(r"\[").removesuffix(r"\]").strip()
    made = convert(latex, display="block" if is_block else "inline")
    made = made.replace("<math ", f'<math aria-label="{escape(latex, quote=True)}" ', 1)
    return f'<div class="wide" tabindex="0">{made}</div>' if is_block else made
