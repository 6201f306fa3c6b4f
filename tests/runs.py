"""Words of small runs, and readers of what they write."""

import csv
import json
from pathlib import Path

SMALL = ["--data", "Shortcut", "--data.groups", "[6,4,4]", "--data.group_size", "10", "--data.batch_size", "16"]
QUIET = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false"]
CONFIGS = Path(__file__).parent.parent / "configs"


def read_json(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def read_csv(path):
    """Rows as dicts, empty cells left out."""
    with Path(path).open(newline="", encoding="utf-8") as lines:
        return [{name: cell for name, cell in row.items() if cell} for row in csv.DictReader(lines)]
