"""ERM and qDRU+M on the same data, selected by qdcg10 and tested, side by side; `make run` runs this.

python examples/quickstart.py [shortcut|synthetic] [--setting 3]
"""

import argparse
import json
from pathlib import Path

from drurank.cli import main
from drurank.report import criteria_table
from drurank.terminal import Terminal, say

CONFIGS = Path(__file__).parent.parent / "configs"
METHODS = {"ERM": "erm", "qDRU+M": "qdru_m"}


def train_and_test(method: str, words: list[str]) -> tuple[dict, str]:
    """Fit, keep the best checkpoint by qdcg10 and test it; returns the report and the folder of the run."""
    folder = main(["fit", "--config", str(CONFIGS / f"method/{METHODS[method]}.yaml"), *words]).trainer.log_dir
    main(["test", "--run", folder])
    return json.loads(Path(folder, "test/qdcg10/report.json").read_text(encoding="utf-8")), folder


def compare() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="shortcut", choices=["shortcut", "synthetic"])
    parser.add_argument("--setting", default="3", help="of the synthetic data, 1 to 4")
    options = parser.parse_args()
    words = ["--config", str(CONFIGS / f"data/{options.data}.yaml")]
    if options.data == "synthetic":
        words += ["--data.setting", options.setting, "--config", str(CONFIGS / "trainer/converged.yaml")]
    reports = {method: train_and_test(method, words) for method in METHODS}
    columns = {method: report["splits"]["ood_test"] for method, (report, _) in reports.items()}
    say("Groups never seen (OOD test), chosen by qdcg10 on OOD validation")
    Terminal().print(criteria_table(columns))
    for method, (_, folder) in reports.items():
        print(f"{method}: look at {folder}/criteria.png and {folder}/test/qdcg10/groups.png")


if __name__ == "__main__":
    compare()
