"""All benchmarks of time as one table, which is also put into RESULTS.md: python benchmarks/bench.py, or make bench.

Those that are there already stay, below the new one. With --dry nothing is written.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import criteria
import peers
import stacked
import start
import steps
from shown import be_quiet, markdown

RESULTS = Path(__file__).parent / "RESULTS.md"
ABOVE = "(../docs/performance.md).\n"
"""The line of RESULTS.md below which the newest part stands."""
PACKAGES = ("torch", "lightning", "numpy")


def about() -> str:
    """Date, commit, machine and versions."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"### {datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}, commit {commit()}\n\n"
        f"`python benchmarks/bench.py`, {os.cpu_count()} CPU cores ({platform.machine()}, {memory:.0f} GiB), one "
        f"thread; Python {platform.python_version()}, {versions}."
    )


def commit() -> str:
    """The commit that is measured, and whether anything was changed since."""
    changed = " and changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    return (git("rev-parse", "--short", "HEAD") or "unknown") + changed


def git(*words: str) -> str:
    """What git prints; nothing where it fails."""
    done = subprocess.run(["git", *words], cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def keep(part: str) -> None:
    """Put a part into RESULTS.md, above those of earlier runs."""
    before, line, after = RESULTS.read_text(encoding="utf-8").partition(ABOVE)
    if not line:
        raise SystemExit(f"{RESULTS} has no line that ends in {ABOVE.strip()!r}; add it")
    RESULTS.write_text(f"{before}{line}\n{part}\n{after}", encoding="utf-8")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=12, help="turns of each way of a training step")
    options.add_argument("--repeats", type=int, default=9, help="turns of everything else")
    options.add_argument("--dry", action="store_true", help="do not write RESULTS.md")
    given = options.parse_args()
    part = about()
    be_quiet()
    rows = [
        *steps.measure(given.rounds),
        *criteria.measure(given.repeats),
        *start.measure(given.repeats),
        *peers.measure(),
        *stacked.rows((8, 32), groups=stacked.FEWER_GROUPS),
    ]
    part = f"{part}\n\n{markdown(rows)}\n"
    print(part)
    if not given.dry:
        keep(part)
