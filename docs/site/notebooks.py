"""Makes the notebooks of the tutorials and runs them: python docs/site/notebooks.py [NAME ...]."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from blocks import BLOCK

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
NOTEBOOKS = ROOT / "docs" / "notebooks"
NAMES = ("own_table", "choosing_methods", "service")
"""Which tutorials are notebooks too."""
SIBLING = re.compile(r"\]\((?!https?:|\.\./|#)")
LINK = re.compile(r"\]\((?!https?:)([^)\s#]+)")
COMMAND = re.compile(r"^python cli\.py ", re.MULTILINE)
CONFIG = re.compile(r"\bconfigs/([\w/]+)\.yaml")
IN_KERNEL = "%run -m drurank "
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
PASSING = re.compile(r"\d:\d\d:\d\d|-:--:--|it/s|ipywidgets")
"""In what is shown while something runs, and in a note that bars need a package."""
SAID = (
    "In this notebook `%run -m drurank` stands for `python cli.py`. It needs `pip install '/path/to/drurank[study]'`, "
    "and an empty folder to work in."
)


def from_page(name: str) -> NotebookNode:
    """The notebook of a tutorial, with no outputs.

    Args:
        name: of the page, as ``own_table``.
    """
    text = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
    cells, end = [], 0
    for found in BLOCK.finditer(text):
        reason, language, title, block = found.groups()
        if reason:
            continue
        cells += [*_words(text[end : found.start()]), new_code_cell(_source(language, title, block))]
        end = found.end()
    cells += _words(text[end:])
    title, _, rest = cells[0].source.partition("\n\n")
    cells[0].source = f"{title}\n\n{SAID}\n\n{rest}"
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def executed(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """The same notebook, with what its cells say.

    Args:
        notebook: as ``from_page`` makes it; it is filled in.
        folder: in which it runs, empty.
    """
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ.update(PYTHONPATH=os.pathsep.join(paths), COLUMNS="100", TERM="dumb")
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}, record_timing=False)
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = _kept(cell.outputs)
    notebook.metadata = {"kernelspec": KERNEL}
    return notebook


def _words(text: str) -> list[NotebookNode]:
    """A cell of Markdown, whose links lead from the notebooks; none if there is nothing to say."""
    text = SIBLING.sub("](../tutorials/", text.strip())
    return [new_markdown_cell(text)] if text else []


def _source(language: str, title: str, block: str) -> str:
    block = CONFIG.sub(r"drurank:\1", block)  # those that come with the package
    if title:
        return f"%%writefile {title}\n{block.rstrip()}"
    return block.rstrip() if language == "python" else COMMAND.sub(IN_KERNEL, block.rstrip())


def _kept(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """What was printed and shown, in its order, without progress bars, blank shows and notes on stderr."""
    kept: list[NotebookNode] = []
    for one in outputs:
        if one.output_type == "stream" and one.name == "stdout":
            if kept and kept[-1].output_type == "stream":
                kept[-1].text += one.text
            elif one.text.strip():
                kept.append(new_output("stream", name="stdout", text=one.text.lstrip("\n")))
        elif one.output_type == "display_data" and (text := _text(one)).strip() and not PASSING.search(text):
            kept.append(new_output("display_data", {"text/plain": text.rstrip()}))
    return kept


def _text(output: NotebookNode) -> str:
    return ESCAPE.sub("", output.data.get("text/plain", ""))


if __name__ == "__main__":
    NOTEBOOKS.mkdir(exist_ok=True)
    for name in sys.argv[1:] or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(from_page(name), Path(folder)), NOTEBOOKS / f"{name}.ipynb")
