"""Every block of README and of the pages of the documentation runs in small, or says why it does not.

A block is run in a folder of its own, with what its page speaks of (helpers/given.py). The tutorials, whose blocks
build on each other, are run by test_tutorials.py.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow.csv as pa_csv
import pytest
from lightning.pytorch import Trainer

from blocks import BLOCK
from drurank import criteria, imports
from drurank.cli import TRAINING, study_run
from drurank.data import Table
from drurank.methods import DRU
from drurank.study import Plan
from generated import help_of
from given import TABLE, reviews, write_given
from page_commands import NoWorkers, after_program, commands, ended, watch_nobody
from runs import QUIET, ROOT
from studies import rehearse

ALL = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/*/*.md")})
ELSEWHERE = {"tutorials", "start", "own_code"}
"""What test_tutorials.py and training/test_own_code.py run."""
LANGUAGES = {"sh", "python", "sql", "yaml", "text"}
PROGRAM = re.compile(r"^\s*(python|drurank|make|pip|torchrun) ", re.MULTILINE)
OPTIONS_OF = ["fit", "--data", "Shortcut", "--model", "DRU"]
"""A command to which a block that has only options belongs."""
SMALLER = {"shortcut": "[6,4,4]", "pictures": "[4,2,2]"}
"""Groups of drawn data, so that they are few."""
IN_SCOPE = {
    "tables": lambda: {"frame": reviews().rename_columns(["age", "job", "y", "site", "split"]).to_pandas()},
    "runs": lambda: {"trainer": Trainer(logger=False, max_epochs=1), "method": DRU(), "data": Table(**TABLE)},
}
"""What blocks of Python take as given."""


@dataclass(frozen=True)
class Block:
    page: str
    number: int
    reason: str
    language: str
    title: str
    text: str


def blocks_of(page):
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [Block(page.stem, number, *parts) for number, parts in enumerate(found)]


BLOCKS = [block for page in ALL for block in blocks_of(page)]
RUN = [page for page in ALL if blocks_of(page) and not {page.stem, page.parent.name} & ELSEWHERE]


def test_every_block_is_found_and_has_a_language():
    for page in ALL:
        assert page.read_text(encoding="utf-8").count("```") == 2 * len(blocks_of(page)), page.name
    assert {block.language for block in BLOCKS} == LANGUAGES
    for block in BLOCKS:
        assert block.language != "text" or not PROGRAM.search(block.text), block
        assert block.language == "python" or block.page != "own_code", block


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folders of a run and of a run with several seeds, by whether it has several."""
    folders = {}
    with pytest.MonkeyPatch.context() as patch:
        use_no_workers(patch)
        for several, more in ((False, []), (True, ["--seeds", "2"])):
            root = tmp_path_factory.mktemp("made")
            write_given(root, (0, 1))
            patch.chdir(root)
            assert ended(["fit", "--config", "my.yaml", "--trainer.max_epochs", "1", *QUIET, *more]) is None
            folders[several] = root / "runs/version_0"
    return folders


def use_no_workers(patch):
    patch.setattr(study_run, "Workers", NoWorkers)
    patch.setattr(study_run, "watch", watch_nobody)


def prepare(folder, block, made, study):
    """A folder with all that the block may name, but what it writes itself."""
    folder.mkdir()
    write_given(folder, ("No", "Yes") if "Yes" in block.text else (0, 1))
    if "cli.py split " in block.text:
        pa_csv.write_csv(reviews().drop_columns("split"), folder / "reviews.csv")
    for name in re.findall(r"--output (\S+)", block.text):
        (folder / name).unlink(missing_ok=True)
    if "runs/version_0" in block.text and "cli.py fit" not in block.text and "drurank fit" not in block.text:
        shutil.copytree(made["--folder runs/version_0" in block.text], folder / "runs/version_0")
    if "studies/mine" in block.text and "study run" not in block.text:
        shutil.copytree(study, folder / "studies/mine")


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_blocks_of_a_page_run_in_small(page, made, undisturbed, tmp_path, monkeypatch):
    use_no_workers(monkeypatch)
    monkeypatch.syspath_prepend("")
    names, files, folder, before = {"__name__": page.stem}, {}, tmp_path, None
    for block in blocks_of(page):
        if block.reason or block.language == "text":
            continue
        monkeypatch.setattr(criteria, "_registry", dict(criteria._registry))  # what is registered stays in the block
        monkeypatch.setattr(imports, "_imported", [])
        if before != "sql":  # what a query writes is read by the command after it
            folder = tmp_path / str(block.number)
            prepare(folder, block, made, undisturbed)
        for title, text in files.items():
            (folder / title).write_text(text, encoding="utf-8")
        monkeypatch.chdir(folder)
        before = block.language
        if block.title:
            files[block.title] = block.text
        RUNNING[block.language](block, names)


def run_python(block, names):
    names.update(IN_SCOPE.get(block.page, dict)())
    exec(compile(block.text, f"{block.page}, block {block.number}", "exec"), names)


def run_sql(block, names):
    duckdb.sql(block.text)


def run_yaml(block, names):
    """The file of a study: its settings are checked with its data, as before a study begins; or that of a fit."""
    if "candidates:" not in block.text and "study" not in names:
        Path("of_the_page.yaml").write_text(block.text, encoding="utf-8")
        words = ["fit", "--data", "Table", "--model", "DRU", "--config", "of_the_page.yaml", "--print_config"]
        assert ended(words) in (None, 0)
        return
    text = block.text if "candidates:" in block.text else names["study"] + block.text  # or some lines for the last one
    names["study"] = text
    file = Path("configs/study/of_the_page.yaml")
    file.write_text(text, encoding="utf-8")
    rehearse(Path("checked"), Plan.read(file))


def run_sh(block, names):
    given = commands(block.text)
    if given[0][0].startswith("--"):
        given = [[*OPTIONS_OF, *(word for words in given for word in words)]]
    else:
        given = [after_program(words) for words in given]
    for words in given:
        assert words, f"{block}: not a command of this program; say why it is not run"
        assert ended([*words, *in_small(words)]) in (None, 0), words


RUNNING = {"python": run_python, "sh": run_sh, "sql": run_sql, "yaml": run_yaml}


def in_small(words):
    """Options that make a command quick."""
    if words[0] not in TRAINING:
        return []
    said = " ".join(words).lower()
    epochs = ["--trainer.max_epochs", "1"] if words[0] == "fit" else []
    seeds = ["--seeds", "2"] if "--seeds" in words else []
    groups = [word for name, few in SMALLER.items() if name in said for word in ("--data.groups", few)]
    return [*epochs, *seeds, *groups, *QUIET]


HELD = [
    words
    for block in BLOCKS
    if block.reason and block.language == "sh"
    for words in map(after_program, commands(block.text))
    if words
]


@pytest.mark.parametrize("words", HELD, ids=lambda words: " ".join(words[:5]))
def test_a_command_that_is_not_run_has_the_options_that_it_names(words, tmp_path, capsys):
    write_given(tmp_path, (0, 1))
    if words[0] == "fit":
        assert ended([*words, "--print_config"]) in (None, 0)
        return
    said = help_of(" ".join(words[: 1 + (words[0] == "study")]))
    for option in re.findall(r"--\w+", " ".join(words)):
        assert re.search(rf"{option}\b", said), option
