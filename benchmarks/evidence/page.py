"""Makes docs/evidence.md and its pictures from what is kept, without training: python -m benchmarks.evidence.page."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.evidence.alone import FILE, alone_table
from benchmarks.evidence.chance import real_data, spread_of_differences
from benchmarks.evidence.choosing import OF_PAGE, claim_table, criteria_table, draws_of_experiment, size_table
from benchmarks.evidence.curves import curve_tables, draw_curves, variants_table
from benchmarks.evidence.cutoffs import cutoff_table, draw_cutoffs, rule_table
from benchmarks.evidence.experiments import ORDER, ROOT, Experiment
from benchmarks.evidence.kept import STUDIES, Kept, results_of
from benchmarks.evidence.markdown import MISSING, table
from benchmarks.evidence.methods import answer, chance_line, draw_methods, methods_table, summary
from benchmarks.evidence.synthetic import both_cells, cells, longer, orders

TEMPLATE = Path(__file__).parent / "page.md"
GRIDS = ("shortcut", "compas", "wisdm_har", "omniglot_strokes", "insteval", "rt_critics", "hotel_reviews")
BUDGETS = {"short": "synthetic_short", "converged": "synthetic_converged", "ranks from training": "synthetic_training"}


class Page:
    """The parts of the page, by name.

    Args:
        results: folder of what is kept.
        pictures: folder of the pictures.
    """

    def __init__(self, results: Path, pictures: Path) -> None:
        self.results, self.pictures = results, pictures
        found = {name: Kept.read(results, name) for name in ORDER}
        self.kept = {name: one for name, one in found.items() if one is not None}
        self.titles = {name: Experiment.read(name, "full").title for name in ORDER}
        self.parts: dict[str, Callable[[str], str]] = {
            "synthetic": lambda word: self.of(f"synthetic_{word[:-2]}", lambda kept: cells(kept, int(word[-1]))),
            "orders": lambda name: orders(self.of_budgets(), name),
            "longer": lambda _: self.of("synthetic_longer", lambda kept: f"{longer(kept)}\n\n{both_cells(kept)}"),
            "methods": lambda name: self.of(name, lambda kept: f"{chance_line(kept)}\n\n{methods_table(kept)}"),
            "summary": lambda name: summary(self.titled(), name),
            "answer": lambda names: answer(self.titled(), names),
            "curves": lambda name: self.of("shortcut_curves", lambda kept: curve_tables(kept, name)),
            "details": lambda name: self.of("details", lambda kept: variants_table(kept, name)),
            "criteria": lambda word: self.drawn(criteria_table, *word.split()),
            "claim": lambda _: self.claims(),
            "sizes": lambda word: self.drawn(size_table, *word.split()),
            "cutoffs": lambda name: cutoff_table(self.titled(), name),
            "rule": lambda _: rule_table(self.titled()),
            "chance": lambda _: real_data(),
            "chance spread": lambda _: spread_of_differences(),
            "alone": lambda _: self.alone(),
            "made": lambda _: self.made(),
            "picture": self.picture,
        }

    def of(self, name: str, part: Callable[[Kept], str]) -> str:
        """A part of one experiment; a word where nothing was kept of it."""
        return part(self.kept[name]) if name in self.kept else MISSING

    def of_budgets(self) -> dict[str, Kept]:
        """The paper's data, by budget."""
        return {budget: self.kept[name] for budget, name in BUDGETS.items() if name in self.kept}

    def drawn(self, part: Callable[[pd.DataFrame, str], str], name: str, target: str) -> str:
        """A part that ``choosing.py`` has drawn."""
        file = draws_of_experiment(self.results, name)
        return part(pd.read_parquet(file), target) if file.is_file() else MISSING

    def claims(self) -> str:
        """The paper's claim on choosing by each data set for which ``choosing.py`` has drawn."""
        files = {name: draws_of_experiment(self.results, name) for name in OF_PAGE}
        found = {self.titles[name]: pd.read_parquet(file) for name, file in files.items() if file.is_file()}
        return claim_table(found) if found else MISSING

    def titled(self) -> dict[str, Kept]:
        """The experiments that have all methods, by title."""
        return {self.titles[name]: self.kept[name] for name in GRIDS if name in self.kept}

    def picture(self, word: str) -> str:
        """Draw a picture; its alternative text follows its name."""
        name, text = word.split(" ", 1)
        if name == "curves" and "shortcut_curves" not in self.kept:
            return MISSING
        drawing: Mapping[str, Callable[[], Figure]] = {
            "methods": lambda: draw_methods(self.titled()),
            "cutoffs": lambda: draw_cutoffs(self.titled()),
            "curves": lambda: draw_curves(self.kept["shortcut_curves"]),
        }
        self.pictures.mkdir(parents=True, exist_ok=True)
        drawing[name]().savefig(self.pictures / f"{name}.png", dpi=110)
        return f"![{text}]({self.pictures.name}/{name}.png)"

    def alone(self) -> str:
        """Models that were trained again, each by itself."""
        file = self.results / FILE
        return alone_table(pd.read_parquet(file)) if file.is_file() else MISSING

    def made(self) -> str:
        """Where each table comes from."""
        manifest = json.loads((self.results / "manifest.json").read_text(encoding="utf-8"))
        pieces = pd.DataFrame([{"piece": name, **entry} for name, entry in manifest.items()])
        lines = []
        for name, kept in self.kept.items():
            some = pieces[pieces["piece"].isin(kept.rows["piece"].unique())]
            seeds = kept.rows.groupby("variant")["seed"].nunique()
            few, many = int(seeds.min()), int(seeds.max())
            lines.append([
                f"`{name}`",
                str(few) if few == many else f"{few} to {many}",
                f"{kept.rows.groupby(['piece', 'setting', 'seed']).ngroups:,}",
                f"{some['minutes'].sum():.0f}",
                ", ".join(sorted(some["commit"].unique())),
                f"{some['date'].min()} to {some['date'].max()}",
            ])  # fmt: skip
        return table(["experiment", "seeds", "models", "minutes", "commit", "date"], lines)

    def write(self, output: Path) -> None:
        """Fill the template."""
        text = TEMPLATE.read_text(encoding="utf-8")
        filled = re.sub(r"\{\{(.+?):\s*(.*?)\}\}", lambda found: self.parts[found[1]](found[2]), text)
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(filled, encoding="utf-8")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=["full", "small"], default="full", help="small: studies/evidence/small")
    options = parser.parse_args()
    output = ROOT / "docs" / "evidence.md" if options.size == "full" else STUDIES / "small" / "evidence.md"
    Page(results_of(options.size), output.with_suffix("")).write(output)
    print(f"written: {output}")


if __name__ == "__main__":
    main()
