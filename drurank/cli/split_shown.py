"""What split shows of a manifest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rich.table import Table

from drurank.cli.flags import in_flags
from drurank.splits import FEW_GROUPS
from drurank.tabular.dropping import said_dropped
from drurank.tabular.rules.spelling import MOST_RENAMED
from drurank.tabular.splitting import SplitFacts
from drurank.terminal import Terminal, say
from drurank.words import counted, quoted, some

LABELS_SHOWN = 10
DISTANCES = {
    "distance": "distance to train (1)",
    "spreads": "in spreads of train (2)",
    "labels": "difference of labels (3)",
}
"""Name in the manifest to what it is called."""
MOST_TESTED = 0.4
"""Largest share of the groups that it is advised to test on."""
ROLES = {"id": "trains", "ood": "is OOD", "left out": "is left out"}


def show(manifest: Mapping[str, Any], output: str) -> None:
    """Show the splits, the distances to train where they were measured, and what was left out."""
    splits = {name: SplitFacts(**summary) for name, summary in manifest["splits"].items()}
    labels = list(next(iter(splits.values())).label_shares)
    written = sum(split.rows for split in splits.values())
    table = Table("", title=f"{output}: {written:,} of {manifest['source']['rows']:,} rows")
    for name in splits:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row("groups", *(f"{split.groups:,}" for split in splits.values()))
    table.add_row("rows", *(f"{split.rows:,}" for split in splits.values()))
    table.add_row("rows of a group, fewest", *(f"{split.min_group_rows:,}" for split in splits.values()))
    table.add_row("rows of a group, median", *(f"{split.median_group_rows:,.10g}" for split in splits.values()))
    for label in labels[:LABELS_SHOWN]:
        said = f"share of {manifest['columns']['label']} {label}"
        table.add_row(said, *(f"{split.label_shares[label]:.3f}" for split in splits.values()))
    distances = manifest.get("distances", {})
    for name, said in DISTANCES.items() if distances else ():
        values = (distances.get(split, {}).get(name) for split in splits)
        table.add_row(said, *("" if value is None else f"{value:.3f}" for value in values))
    Terminal().print(table)
    if len(labels) > LABELS_SHOWN:
        say(f"The shares of all {len(labels):,} labels stand in the manifest")
    if distances:
        say("(1) between the means over groups of their mean embeddings")
        spread = f"{manifest['spread']:.3f}"
        say(f"(2) one is {spread}, the root mean square distance of train's groups to their mean")
        say("(3) half the sum of the differences between its label shares and those of train, from 0 to 1")
    for cluster in sorted(manifest.get("clusters", ()), key=lambda cluster: list(ROLES).index(cluster["role"])):
        say(f"A cluster {ROLES[cluster['role']]}: {cluster['writers']:,} groups, {cluster['rows']:,} rows")
    if manifest["method"] == "group":
        _show_few(splits)
    _show_names(manifest)
    _show_left_out(manifest)


def _show_few(splits: Mapping[str, SplitFacts]) -> None:
    """Say what it means that few groups are tested, and how there are more."""
    held = {name: splits[name].groups for name in ("ood_val", "ood_test", "train") if name in splits}
    tested, every = held.get("ood_test", 0), sum(held.values())
    if not 0 < tested < FEW_GROUPS:
        return
    worst = math.ceil((tested - 1) / 10) + 1
    share = min(math.ceil(100 * FEW_GROUPS / every) / 100, MOST_TESTED)
    more = round(share * every)
    instead = f"--ood_test {share:g} takes {counted(more, 'group')}; or " if more > tested else ""
    say(
        f"ood_test has {counted(tested, 'group')}: worst, p10 and qdcg10 hang on its {worst} worst, and models seldom "
        f"differ by more than chance; {instead}give a study several splits as its repeats (--seed 1, 2 and so on)"
    )


def _show_names(manifest: Mapping[str, Any]) -> None:
    """Say what was left out of names, and warn of those that may be one."""
    if manifest["padded"]:
        said = ", ".join(f"{name} {counted(cells, 'cell')}" for name, cells in manifest["padded"].items())
        say(f"Blanks at the ends of names were left out, so that 'a' and 'a ' are one: {said}")
    renamed = manifest["label_twins"]
    if renamed:
        said = some(f"{quoted(one)} = {quoted(other)}" for other, one in renamed.items())
        remedy = "write them alike, and split again"
        if len(renamed) <= MOST_RENAMED:
            remedy = in_flags(f"split again with relabel={renamed!r}", ["--relabel"])
        say(
            f"Warning: labels differ only by case, blanks, Unicode form or zeros, and each counts apart: {said}; if "
            f"they are one, {remedy}"
        )
    twins = manifest["twins"]
    if twins:
        said = some(" = ".join(map(quoted, twin["names"])) for twin in twins)
        across = sum(twin["across"] for twin in twins)
        sides = f", {across:,} of them in training and in an OOD split" if across else ""
        lost, least = sum(twin["lost"] for twin in twins), manifest["options"]["min_count"]
        kept = f"; {counted(lost, 'row')} that --min_count {least} leaves out then stay" if lost else ""
        say(
            f"Warning: {counted(len(twins), 'group')} may be written in several ways{sides}, by case, blanks, Unicode "
            f"form or zeros, and each way counts apart: {said}; if they are one, split again with --join_twins "
            f"true{kept}"
        )


def _show_left_out(manifest: Mapping[str, Any]) -> None:
    left_out, options = manifest["left_out"], manifest["options"]
    dropped = manifest["dropped"]
    if dropped:
        say(said_dropped(dropped))
    if manifest["method"] == "cluster":
        for name, which in (("min_count", "groups"), ("id_min_count", "groups of the cluster that trains,")):
            small = manifest[f"under_{name}"]
            _show_small(small["rows"], small["writers"], which, options[name])
    else:
        _show_small(left_out["rows"], left_out["groups"], "groups", options["min_count"])
    if left_out["groups"]:
        named = len(left_out["group_rows"])
        some = "groups" if named == left_out["groups"] else f"{named:,} largest groups"
        say(f"The manifest names the {some} that are left out")


def _show_small(rows: int, groups: int, which: str, least: int) -> None:
    if rows:
        say(f"Left out: {rows:,} rows of {groups:,} {which} with fewer than {least:,} rows")
