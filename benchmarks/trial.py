"""Trains methods on generated data over seeds and prints the criteria on OOD test, chosen by qdcg10.

python benchmarks/trial.py shortcut --seeds 5
python benchmarks/trial.py synthetic --seeds 2 --setting 3 --budget short
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import torch

from drurank.cli import main

CONFIGS = Path(__file__).parent.parent / "configs"
SHOWN = ("average", "p10", "worst", "qdcg10")
METHODS = {
    "ERM": ["erm"],
    "qDRU+M": ["qdru_m"],
    "qDRU+G": ["qdru_g"],
    "gDRU+M": ["gdru_m"],
    "Worst+M": ["worst_m"],
    "GroupDRO": ["group_dro"],
    "CVaR": ["cvar"],
    "ChiSquare": ["chi_square"],
    "JTT": ["jtt", "--model.first_stage_epochs", "5"],
    **{f"IRM {x}": ["irm", "--model.penalty_weight", str(x)] for x in (0, 1, 100)},
    "DFR": ["dfr"],
    **{f"Const+M {x}": ["const_m", "--model.upweight_factor", str(x)] for x in (2, 3, 4, 5)},
}


def trial(method: str, data: list[str], budget: list[str], seed: int, folder: Path) -> dict[str, float]:
    """Fit, choose by qdcg10, test; the criteria on OOD test."""
    name, *options = METHODS[method]
    quiet = ["--trainer.enable_progress_bar", "false", "--trainer.accelerator", "cpu"]
    words = ["--config", str(CONFIGS / f"method/{name}.yaml"), *data, *budget, *options, "--data.seed", str(seed)]
    root = ["--trainer.default_root_dir", str(folder)]
    run = main(["fit", *words, "--seed_everything", str(seed), *quiet, *root]).trainer.log_dir
    main(["test", "--run", run, *quiet])
    report = json.loads(Path(run, "test/qdcg10/report.json").read_text(encoding="utf-8"))
    return {name: entry["value"] for name, entry in report["splits"]["ood_test"]["criteria"].items()}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=["shortcut", "synthetic"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--setting", type=int, default=3)
    parser.add_argument("--budget", choices=["short", "converged"], default="short")
    parser.add_argument("--methods", default=None, help="names with commas; ERM, qDRU+M and Const+M if not given")
    return parser.parse_args()


def run() -> None:
    options = parse()
    torch.set_num_threads(1)
    data = ["--config", str(CONFIGS / f"data/{options.data}.yaml")]
    budget = []
    if options.data == "synthetic":
        data += ["--data.setting", str(options.setting)]
        budget = ["--config", str(CONFIGS / f"trainer/{options.budget}.yaml")]
    chosen = options.methods.split(",") if options.methods else [m for m in METHODS if m[:3] in ("ERM", "qDR", "Con")]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for method in chosen:
            found = [trial(method, data, budget, seed, Path(folder)) for seed in range(options.seeds)]
            mean = {name: np.mean([values[name] for values in found]) for name in SHOWN}
            each = " ".join(f"{100 * values['p10']:.1f}" for values in found)
            lines.append(
                f"{method:12}" + "".join(f"{name} {mean[name]:.4f}  " for name in SHOWN) + f"p10 by seed {each}"
            )
            print(lines[-1], flush=True)
    print("\n".join(["", *lines]))


if __name__ == "__main__":
    run()
