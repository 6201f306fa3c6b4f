"""Options of text come back as they went out, by every route."""

import random

import pytest
import yaml

from drurank.cli.training_parser import takes_text
from drurank.cli.words import names_as_text
from drurank.data import Table
from drurank.study.candidates import Candidate
from drurank.yaml_files import PlanLoader, as_json, dump_yaml, read_yaml

KNOWN = r"""2e5 2E5 -1e-3 1e5 1. .5 +1 -0 007 010 0o17 0x1f 0b11 1_000 1.0 .inf -.INF .nan nan inf no No NO off on y n
Y N yes true True TRUE false null Null NULL ~ << = - -- --- ... -x --label [ ] { } [] {} [a] [a,b] {a} {a:b}
{"a":1} a: :a a:b 12:30 1:2:3 2001-01-01 2001-01-01T10:00:00Z # #x a#b & &a * *a ! !t !!str !!python/none | >
>- |+ % %a @ @a ` `a ' " 'q' "q" '' "" \ \n a\b ? ?a , ,a a, a,b ; $HOME ${x} é ñ 名 🙂 == =a <a> (a) a=b a/b
../x drurank:x .5e3 5e 1e null,null ~,~ 0.10 1,5 1.5.2 +.5 -- +
""".split()  # noqa: SIM905
SPACED = [
    "a: b",
    " x",
    "x ",
    "a #b",
    "Unnamed: 0",
    "Survey: 2024.csv",
    "- a",
    "? a",
    "a\tb",
    "a\nb",
    "\n",
    " ",
    "\t",
    "a, b",
]
SPACED += [
    "label: y",
    "{a: b}",
    "[a, b]",
    "x:\n",
    "'a' b",
    '"a" b',
    "\x85",
    "\xa0",
    "\u2028",
    "\ufeff",
    "\x1b[1m",
    "\x00",
    "",
]


def _evil():
    draw = random.Random(0)
    letters = "0123456789eE.-+_:#[]{},&*!|>'\"%@`~=<? \tanulltrueéx"
    drawn = ["".join(draw.choices(letters, k=draw.randint(1, 6))) for _ in range(110)]
    return list(dict.fromkeys([*KNOWN, *SPACED, *drawn]))


EVIL = _evil()


def _settings(text):
    return {
        "label": text,
        "exclude": [text, "k"],
        "relabel": {text: text + "x"},
        "split_names": {text: "train"},
        "date_format": text,
    }


def test_text_is_read_back_by_every_reader():
    assert len(EVIL) > 200
    for text in EVIL:
        content = {
            "data": {"init_args": _settings(text)},
            "other": [text, {text: text}],
            "number": [1, 2.5, None, True],
        }
        written = dump_yaml(content)
        assert read_yaml(written) == content, text
        assert yaml.safe_load(written) == content, text


def test_plan_and_the_words_of_its_candidates_keep_text():
    for text in EVIL:
        options = {f"data.{name}": value for name, value in _settings(text).items()}
        read = read_yaml(yaml.safe_dump({"candidates": [options]}), PlanLoader)["candidates"][0]
        assert read == options, text
        words = Candidate("ERM", read, 0, "base").words()
        assert _of_words(["fit", "--data", "Table", *words]) == _settings(text), text


def _of_words(words):
    """The options of data in configurations, as the last step before the parser leaves them."""
    words, found = names_as_text(words, takes_text), {}
    for word, value in zip(words, [*words[1:], ""], strict=True):
        if word == "--config":
            found |= read_yaml(value)["data"]["init_args"]
        elif word.startswith("--data."):
            name, equals, given = word.removeprefix("--data.").partition("=")
            found[name] = given if equals else value
    return found


def test_typed_text_stays_but_a_plain_null_and_lists():
    for text in EVIL:
        assert _of_words(["fit", "--data", "Table", f"--data.label={text}"]).get("label", "") == text
    assert _of_words(["fit", "--data", "Table", "--data.split=null"]) == {"split": "null"}
    assert _of_words(["fit", "--data", "Table", '--data.exclude=["a, b", c, "null"]']) == {
        "exclude": ["a, b", "c", "null"]
    }


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    file = tmp_path_factory.mktemp("evil") / "Survey: 2024.csv"
    file.write_text("y\n1\n")
    return file


@pytest.mark.parametrize("text", ["2e5", "null", "#x"])
def test_parser_keeps_text(printed, tmp_path, table, text):
    """From the command line to the saved configuration, and from that again."""
    wanted = {"label": text, "split": f"{text}S", "path": str(table), "exclude": EVIL}
    wanted["relabel"] = {name: f"{name}x" for name in EVIL}
    typed = [f"--data.{name}={value if isinstance(value, str) else as_json(value)}" for name, value in wanted.items()]
    words = ["--model", "ERM", "--data", "Table", *typed]
    for _ in range(2):
        saved = printed("fit", *words, "--print_config")
        for data in (yaml.safe_load(saved)["data"], read_yaml(saved)["data"]):
            assert {name: data["init_args"][name] for name in wanted} == wanted
        (tmp_path / "config.yaml").write_text(saved)
        words = ["--config", str(tmp_path / "config.yaml")]


def test_list_names_columns_with_commas(tmp_path):
    (tmp_path / "t.csv").write_text('"a, b",y,split\n1,0,train\n2,1,train\n3,0,test\n')
    path = str(tmp_path / "t.csv")
    assert Table(path, "y", ["a, b"], "split").raw_rows() is not None
    with pytest.raises(ValueError, match=r'has no column \'a\'.* as a list, as \["a, b"\]'):
        Table(path, "y", "a, b", "split").raw_rows()


def test_default_of_an_enumeration_is_saved_as_its_value(printed):
    # Timer's interval is Interval.step, which is text too.
    words = ["--trainer.callbacks+=Timer", "--trainer.callbacks.duration", "00:00:01:00", "--print_config"]
    callbacks = yaml.safe_load(printed("fit", "--model", "ERM", "--data", "Shortcut", *words))["trainer"]["callbacks"]
    assert callbacks[0]["init_args"] == {"duration": "00:00:01:00", "interval": "step", "verbose": True}
