"""ERM and qDRU+M with five seeds each: a study whose runs train together. `make run` runs this.

python examples/quickstart.py [shortcut|pictures|synthetic] [--setting 3]
"""

import argparse
from pathlib import Path
from typing import Any

from drurank.cli import main
from drurank.report import seeds_table
from drurank.study import Study, recommend, report_over_seeds
from drurank.terminal import Terminal, say
from drurank.yaml_files import dump_yaml

CONFIGS = Path(__file__).parent.parent / "configs"
BY = "qdcg10"


def plan(data: str, setting: int) -> dict[str, Any]:
    """What the file of the study says."""
    shared = [str(CONFIGS / f"data/{data}.yaml")]
    found = {"candidates": [{"model": "ERM"}, {"model": "DRU"}], "seeds": [0, 1, 2, 3, 4], "criteria": [BY]}
    if data == "synthetic":
        shared.append(str(CONFIGS / "trainer/converged.yaml"))
        return {"configs": shared, "data": {"init_args": {"setting": setting}}, **found}
    if data == "pictures":
        return {"configs": shared, **found}
    return {"configs": shared, "trainer": {"max_epochs": 10}, **found}


def compare() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="shortcut", choices=["shortcut", "pictures", "synthetic"])
    parser.add_argument("--setting", type=int, default=3, help="of the synthetic data, 1 to 4")
    options = parser.parse_args()
    folder = Path("studies", options.data)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "study.yaml"
    file.write_text(dump_yaml(plan(options.data, options.setting)), encoding="utf-8")
    main(["study", "run", "--config", str(file), "--output", str(folder)])
    study = Study.load(folder)
    say(f"\nGroups never seen (OOD test), chosen by {BY} on OOD validation")
    reports = {method: report_over_seeds(results, BY) for method, results in study.chosen(BY).items()}
    Terminal().print(seeds_table({method: report["ood_test"] for method, report in reports.items()}))
    say("\n".join(recommend(study, BY).sentences()))
    main(["study", "plot", "--folder", str(folder)])


if __name__ == "__main__":
    compare()
