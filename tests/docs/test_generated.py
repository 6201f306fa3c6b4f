"""The page of the command line that the package writes."""

import generated
from drurank.cli import COMMANDS, TRAINING, study


def test_the_page_has_every_command_and_no_other():
    of_study = {f"study {name}" for name in ("run", *study.SHOWN)}
    assert sorted(generated.COMMANDS) == sorted({*TRAINING, *COMMANDS} - {"study"} | of_study)
