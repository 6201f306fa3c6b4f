"""What split shows of a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from drurank.tabular.splitting import PartSummary

LABELS_SHOWN = 10
DISTANCES = {
    "distance": "distance to train",
    "spreads": "in spreads of train",
    "labels": "distance by label shares",
}
"""Name in the manifest to what it is called."""


def show(manifest: Mapping[str, Any], output: str) -> None:
    """Show the parts, the distances to train where they were measured, and what was left out."""
    parts = {name: PartSummary(**summary) for name, summary in manifest["parts"].items()}
    labels = list(next(iter(parts.values())).label_shares)
    table = Table("", title=escape(f"{output}: {sum(part.rows for part in parts.values()):,} rows"))
    for name in parts:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row("groups", *(f"{part.groups:,}" for part in parts.values()))
    table.add_row("rows", *(f"{part.rows:,}" for part in parts.values()))
    table.add_row("rows of a group, fewest", *(f"{part.min_group_rows:,}" for part in parts.values()))
    table.add_row("rows of a group, median", *(f"{part.median_group_rows:,.10g}" for part in parts.values()))
    for label in labels[:LABELS_SHOWN]:
        said = escape(f"share of {manifest['columns']['label']} {label}")
        table.add_row(said, *(f"{part.label_shares[label]:.3f}" for part in parts.values()))
    distances = manifest.get("distances", {})
    for name, said in DISTANCES.items() if distances else ():
        values = (distances.get(part, {}).get(name) for part in parts)
        table.add_row(said, *("" if value is None else f"{value:.3f}" for value in values))
    Console().print(table)
    if len(labels) > LABELS_SHOWN:
        print(f"The shares of all {len(labels):,} labels stand in the manifest")
    if manifest["method"] == "cluster":
        _show_clusters(manifest)
    else:
        left_out = manifest["left_out"]
        _show_small(left_out["rows"], left_out["groups"], "groups", manifest["options"]["min_count"])
    dropped = manifest["dropped"]
    if dropped:
        by_column = ", ".join(f"{name} {rows:,}" for name, rows in dropped["blank"].items())
        print(f"Left out: {dropped['rows']:,} rows with a blank cell ({by_column})")


def _show_clusters(manifest: Mapping[str, Any]) -> None:
    said = [f"{found['role']} {found['writers']:,} ({found['rows']:,} rows)" for found in manifest["clusters"]]
    print(f"Groups by cluster: {', '.join(said)}")
    for name, which in (("min_count", "groups"), ("id_min_count", "groups that would train,")):
        small = manifest[f"under_{name}"]
        _show_small(small["rows"], small["writers"], which, manifest["options"][name])


def _show_small(rows: int, groups: int, which: str, least: int) -> None:
    if rows:
        print(f"Left out: {rows:,} rows of {groups:,} {which} with fewer than {least:,} rows; the manifest names them")
