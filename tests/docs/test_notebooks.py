"""The notebooks are those of the tutorials, and run."""

import nbformat
import pytest

import notebooks as made
from runs import ROOT


def read(name):
    return nbformat.read(made.NOTEBOOKS / f"{name}.ipynb", as_version=4)


def said(cell):
    """All that a cell says, as text."""
    return "".join(one.text if one.output_type == "stream" else one.data["text/plain"] for one in cell.outputs)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", made.NAMES)
def test_a_notebook_has_the_cells_of_its_page(name):
    kept, page = read(name), made.from_page(name)
    again = f"python docs/site/notebooks.py {name} makes it anew"
    assert [(cell.cell_type, cell.source) for cell in kept.cells] == [
        (cell.cell_type, cell.source) for cell in page.cells
    ], again


@pytest.mark.parametrize("name", made.NAMES)
def test_a_notebook_is_kept_with_what_its_commands_say(name):
    nbformat.validate(read(name))
    commands = [cell for cell in code(read(name)) if cell.source.startswith(made.IN_KERNEL)]
    assert len(commands) >= 2
    for cell in commands:
        assert said(cell), cell.source
        assert not any(word in said(cell) for word in ("Traceback", "/tmp", str(ROOT), "site-packages")), cell.source


def test_links_of_a_notebook_lead_to_files():
    for name in made.NAMES:
        for cell in read(name).cells:
            for target in made.LINK.findall(cell.source) if cell.cell_type == "markdown" else []:
                assert (made.NOTEBOOKS / target).resolve().is_file(), (name, target)


def test_a_block_is_a_cell_by_its_language(tmp_path, monkeypatch):
    page = (
        "# Title\n\nSee [this](other.md) and [that](../a.md).\n\n```python\nx = 1\n```\n\n"
        '```yaml title="a.yaml"\nseeds: [0]\n```\n\n'
        "```sh\npython cli.py fit --config configs/a/b.yaml \\\n  --b 2\npython cli.py test\n```\n\n"
        "<!-- not run: it needs a GPU -->\n```sh\npython cli.py fit\n```\n"
    )
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    monkeypatch.setattr(made, "TUTORIALS", tmp_path)
    cells = made.from_page("page").cells
    assert cells[0].source == (f"# Title\n\n{made.SAID}\n\nSee [this](../tutorials/other.md) and [that](../a.md).")
    assert [cell.source for cell in cells[1:4]] == [
        "x = 1",
        "%%writefile a.yaml\nseeds: [0]",
        "%run -m drurank fit --config drurank:a/b \\\n  --b 2\n%run -m drurank test",
    ]
    assert cells[4].cell_type == "markdown"
    assert "not run: it needs a GPU" in cells[4].source


@pytest.mark.slow
@pytest.mark.parametrize("name", made.NAMES)
def test_a_notebook_runs(name, tmp_path, monkeypatch):
    for variable in ("PYTHONPATH", "COLUMNS", "TERM"):
        monkeypatch.setenv(variable, "")  # so that it is put back
    ran, kept = code(made.executed(made.from_page(name), tmp_path)), code(read(name))
    for now, then in zip(ran, kept, strict=True):
        assert bool(said(now)) == bool(said(then)), now.source
