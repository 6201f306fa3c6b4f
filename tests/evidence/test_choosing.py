"""What criteria pick is compared draw by draw."""

import pandas as pd

from benchmarks.evidence.choosing import TARGETS, claim_table


def regrets(qdcg10, worst):
    """Draws of one data set, the same regrets for every target."""
    return pd.DataFrame(
        [
            {"draw": draw, "criterion": name, "target": target, "regret": regret, "pool": "all"}
            for name, values in (("qdcg10", qdcg10), ("worst", worst))
            for draw, regret in enumerate(values)
            for target in TARGETS
        ]
    )


def test_a_claim_is_confirmed_where_the_differences_exclude_0():
    said = claim_table(
        {
            "Better": regrets([0.01, 0.02], [0.05, 0.08]),
            "Worse": regrets([0.05, 0.08], [0.01, 0.02]),
            "Either": regrets([0.05, 0.01], [0.01, 0.05]),
        }
    ).splitlines()[2:]
    assert [line.split(" | ")[1].split(": ")[1] for line in said] == ["confirmed", "refuted", "open"]
    assert said[0].startswith("| Better | -5.0 (-5.9 to -4.1): confirmed | ")
