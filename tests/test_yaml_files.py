"""YAML files of options."""

import pytest
import yaml

from drurank.yaml_files import PlanLoader, read_text, read_yaml

RELABEL = """{no: 0, yes: 1, 010: ten, off: x, null: y, 1.0: z, N: NO, false: "False", 2: 1.50, true: True, 0x1F: on,
1:30: 1_000, 2001-01-01: ~}"""
AS_TYPED = {
    "no": "0",
    "yes": "1",
    "010": "ten",
    "off": "x",
    "null": "y",
    "1.0": "z",
    "N": "NO",
    "false": "False",
    "2": "1.50",
    "true": "True",
    "0x1F": "on",
    "1:30": "1_000",
    "2001-01-01": None,
}


@pytest.mark.parametrize(
    "options", ["data: {init_args: {relabel: %s}}", "data: {relabel: %s}", "fit: {data: {relabel: %s}}"]
)
def test_names_in_a_configuration_are_text(options):
    read = read_yaml(options % RELABEL)
    while "no" not in read:
        (read,) = read.values()
    assert read == AS_TYPED


def test_names_in_a_study_are_text():
    read = read_yaml(f"candidates: [{{model: ERM, data.relabel: {RELABEL}, data.exclude: [01, on]}}]", PlanLoader)
    assert read["candidates"][0] == {"model": "ERM", "data.relabel": AS_TYPED, "data.exclude": ["01", "on"]}


def test_names_on_a_command_line_are_text():
    assert read_text(RELABEL) == AS_TYPED
    assert read_text("[01, 'null', null, 1.0]") == ["01", "null", None, "1.0"]


def test_key_that_stands_there_twice_is_refused():
    with pytest.raises(yaml.YAMLError, match="'1' is given twice"):
        read_text("{1: a, 1: b}")


def test_other_values_are_read_as_in_yaml_1_2():
    read = read_yaml("a: [1, -2, 1.5, 1e-3, true, False, null, ~, .inf, no, on, 010, 1:30, 1_000, 2001-01-01]")
    assert read["a"] == [
        1,
        -2,
        1.5,
        0.001,
        True,
        False,
        None,
        None,
        float("inf"),
        *["no", "on", "010", "1:30", "1_000", "2001-01-01"],
    ]


def test_merged_sections_are_read():
    read = read_yaml("one: &one {x: 1, y: 2}\ndata: {<<: *one, label: 01}\n")
    assert read["data"] == {"x": 1, "y": 2, "label": "01"}


def test_study_reads_exponents_as_it_did():
    assert read_yaml("{a: 1e-5, b: 1.0e-5, c: 0.5, d: 3}", PlanLoader) == {"a": "1e-5", "b": 1e-5, "c": 0.5, "d": 3}
