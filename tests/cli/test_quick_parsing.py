"""What tests keep of jsonargparse's findings is what it finds."""

from pathlib import Path

import pytest
from jsonargparse import ArgumentParser, Namespace, _core, _subcommands, _util

import quick_parsing
from drurank.cli.parser import SentenceParser
from drurank.report import report_predictions


def test_it_is_in_use():
    assert _core.find_action_and_subcommand is _subcommands.find_action_and_subcommand is quick_parsing.find
    assert Namespace._parse_key is quick_parsing.parse_key
    assert _util.get_import_path is quick_parsing.import_path


def test_an_option_is_found_as_ever_also_after_others_were_added_and_in_subcommands():
    parser, whole = SentenceParser(), ArgumentParser()
    whole.add_subcommands().add_subcommand("report", parser)
    assert quick_parsing.find(parser, "label") == (None, None)
    parser.add_function_arguments(report_predictions)
    for name in ["label", "group", "none", "label.x", "config", *(action.dest for action in parser._actions)]:
        for place, dest in ((parser, name), (whole, f"report.{name}")):
            for _ in range(2):
                assert quick_parsing.find(place, dest) == quick_parsing.FIND(place, dest)
    assert quick_parsing.find(whole, "report.label")[1] == "report"
    assert quick_parsing.find(parser, "label")[0].dest == "label"


@pytest.mark.parametrize("key", ["a", "b", "a.c", "a.c.d", "b.e", "items", "x+", "a.keys"])
def test_a_key_is_read_as_ever(key):
    space = Namespace({"a": Namespace(c=1), "b": 2})
    assert quick_parsing.parse_key(space, key) == quick_parsing.PARSE_KEY(space, key)


@pytest.mark.parametrize("key", ["", "a b", "a..b", 5])
def test_what_is_no_key_is_refused_as_ever(key):
    with pytest.raises(KeyError):
        quick_parsing.parse_key(Namespace(), key)


@pytest.mark.parametrize("value", [int, type(None), type(int | str), type(list[int]), Path, Namespace, pytest.raises])
def test_where_a_class_is_imported_from_is_found_as_ever(value):
    assert quick_parsing.import_path(value) == quick_parsing.import_path(value) == quick_parsing.IMPORT_PATH(value)
