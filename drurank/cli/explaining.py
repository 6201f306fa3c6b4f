"""One sentence in place of each error message of jsonargparse."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from drurank.cli.class_paths import import_problem, options_of
from drurank.cli.hints import nearest_argument, nearest_option
from drurank.errors import nearest
from drurank.imports import why_not_trusted

PLAIN = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "list": "a list",
    "dict": "a mapping",
    "NoneType": "nothing",
}
"""Names of types in messages."""
ANY_CLASS = ("torch.optim.Optimizer", "torch.nn.Module", "typing.Union")
"""What jsonargparse takes for the class of an option that names none."""
SIZES_INSTEAD = ", or let the network take what the data says: an argument `sizes`, with .in_features and .num_classes"
BASES = {"LightningDataModule": "data", "GroupDataModule": "data", "GroupModule": "model"}
"""Classes that jsonargparse takes where an option names none."""
TYPED = {
    "data": "--data Table --data.path FILE --data.label COLUMN --data.group COLUMN --data.split COLUMN",
    "model": "--model DRU",
}
"""What may be typed for an option that is missing."""
USUAL = {"data": "Table", "model": "DRU"}
FEW = 200
"""Letters of an unreadable configuration that are shown."""


@dataclass(frozen=True)
class Refused:
    """What jsonargparse has refused.

    Attributes:
        message: its error message.
        path: of the option, with dots; empty where the message names none.
        options: those that the parser knows, with their dashes.
        class_names: gives the names of the classes that an option takes.
    """

    message: str
    path: str
    options: list[str]
    class_names: Callable[[str], list[str]]

    def found(self, pattern: str, flags: int = 0) -> re.Match[str] | None:
        """Where the message has a pattern."""
        return re.search(pattern, self.message, flags)

    @property
    def value(self) -> str | None:
        """The value that was refused, as the message has it."""
        found = self.found(r"(?:Got value|Given value): (.*)")
        return None if found is None else found[1].strip()


def explain(message: str, options: list[str], class_names: Callable[[str], list[str]]) -> str:
    """One sentence from an error message of jsonargparse.

    Args:
        message: its error message.
        options: the options that the parser knows, with their dashes.
        class_names: gives the names of the classes that an option takes.
    """
    path = ".".join(re.findall(r'[Pp]arser key "([^"]+)"', message))
    refused = Refused(message, path, options, class_names)
    for sentence in SENTENCES:
        said = sentence(refused)
        if said is not None:
            return said
    return " ".join(re.sub(r'Parser key "([^"]+)":', r"--\1:", message).split())


def _missing(refused: Refused) -> str | None:
    missing = refused.found(r"the following arguments are required: ([\w., ]+?)(?:\. |$)", re.MULTILINE)
    if missing is None:
        return None
    given = [name.strip() for name in missing[1].split(",")]
    names = [f"{refused.path}.{name}" if refused.path else name.partition(".")[2] or name for name in given]
    are, them = ("are", "them") if len(names) > 1 else ("is", "it")
    typed = " ".join(TYPED[name] for name in names if name in TYPED)
    said = f"{', '.join(f'--{name}' for name in names)} {are} missing; give {them} on the command line"
    said = f"{said}, as {typed}," if typed else said
    said = f"{said} or by --config" if "--config" in refused.options else said
    return f"{said}{SIZES_INSTEAD}" if any(".network." in name for name in names) else said


def _not_trusted(refused: Refused) -> str | None:
    denied = refused.found(r"Importing '([\w.]+)' is not allowed")
    return None if denied is None else f"--{refused.path}: {why_not_trusted(denied[1])}"


def _broken_class(refused: Refused) -> str | None:
    """Of a class that cannot be imported."""
    if not refused.found(r"class_path|callable class|[Ss]ubclass"):
        return None
    named = re.findall(r"(?:given class_path|Given value:|Got value:|val=)\s*'?([A-Za-z_][\w.]*)'?", refused.message)
    for class_path in dict.fromkeys(reversed(named)):
        problem = import_problem(class_path)
        if problem is not None:
            return f"--{refused.path} {class_path}: {problem}"
    return None


def _option_of_class(refused: Refused) -> str | None:
    option = refused.found(r"Option '([^']+)' is not accepted(.*)")
    if option is None:
        return None
    owner = re.findall(r"class_path='([\w.]+)'", option[2])[:1]
    owner = owner or re.findall(r"given class_path '([\w.]+)'", refused.message)[-1:]
    name = owner[0] if owner else refused.path
    if not name:
        return f"there is no option --{option[1]}: {nearest_option(f'--{option[1]}', refused.options)}"
    if name in ANY_CLASS:
        return _no_class(refused, refused.path, option[1])
    if name.rpartition(".")[2] in BASES:
        return _no_class(refused, BASES[name.rpartition(".")[2]], option[1])
    return f"{name.rpartition('.')[2]} has no option {option[1]!r}: {nearest_argument(option[1], options_of(name))}"


def _unknown_option(refused: Refused) -> str | None:
    unknown = refused.found(r"[Uu]nrecognized arguments: (\S+)")
    foreign = refused.found(r"does not accept option '([\w.]+)'|[Kk]ey '?\"?([\w.]+)'?\"? is not expected")
    if unknown is not None:
        word = unknown[1].split("=")[0]
    elif foreign is not None:
        word = f"--{foreign[1] or foreign[2]}"
    else:
        return None
    return f"there is no option {word}: {nearest_option(word, refused.options)}"


def _plateau(refused: Refused) -> str | None:
    if not refused.found(r"(Given|Got) value: [^A-Z]*ReduceLROnPlateau"):
        return None
    return "to watch a criterion write lightning.pytorch.cli.ReduceLROnPlateau, with .monitor val_qdcg10"


def _unknown_class(refused: Refused) -> str | None:
    no_class = refused.found(r"Expected a dot import path string: (\S+)")
    if no_class is None:
        return None
    kind = refused.path.rpartition(".")[2]
    return f"there is no {kind or 'class'} {no_class[1]!r}: {nearest(no_class[1], refused.class_names(kind))}"


def _class_not_named(refused: Refused) -> str | None:
    unnamed = refused.found(r"Given value: NestedArg\(key='([\w.]+)'")
    if unnamed is None or "Problem with given class_path" in refused.message:
        return None
    return _no_class(refused, refused.path, unnamed[1])


def _config_without_names(refused: Refused) -> str | None:
    config = refused.found(r"(?:Unexpected config|Problems parsing config): (.*)", re.DOTALL)
    if config is None or refused.path:
        return None
    return f"--config does not hold named options: {' '.join(config[1].split())[:FEW]}; give a YAML file of options"


def _no_choice(refused: Refused) -> str | None:
    """Of a value that is none of some words."""
    literal = refused.found(r"Expected a typing\.Literal\[(.*?)\]\. Got value: (\S+)")
    if literal is not None:
        return f"--{refused.path} is {literal[2]!r}: {nearest(literal[2], _quoted(literal[1]))}"
    listed = re.findall(r"- Expected a typing\.Literal\[(.*?)\]$", refused.message, re.MULTILINE)
    choices = _quoted(" ".join(listed))
    if not choices or refused.value is None or not refused.path:
        return None
    return f"--{refused.path} is {refused.value!r}: {nearest(refused.value, choices)}"


def _quoted(text: str) -> list[str]:
    return re.findall(r"'([^']+)'", text)


def _wrong_type(refused: Refused) -> str | None:
    types = re.findall(r"Expected a <class '(\w+)'>", refused.message)
    if "Problem with given class_path" in refused.message and types[-1:] == ["NoneType"]:
        types.pop()  # Of the class as a whole.
    path, value = refused.path, refused.value
    if not types or value is None or not path:
        return None
    if value == "None":
        wanted = _in_words([name for name in types if name != "NoneType"])
        return f"--{path} holds null; give {wanted}, and if the word null is meant put it in quotes"
    wanted = _in_words(types)
    if path.rpartition(".")[2] == "path" and value.startswith("["):
        wanted += ", with commas between several files"
    if wanted == PLAIN["NoneType"]:
        return f"--{path} {value!r} cannot be used here; see --{path}.help"
    return f"--{path} is {value!r}; give {wanted}"


def _in_words(types: list[str]) -> str:
    return " or ".join(dict.fromkeys(PLAIN.get(name, name) for name in types))


def _unknown_command(refused: Refused) -> str | None:
    choice = refused.found(r"invalid choice: '(\w+)' \(choose from (.*)\)")
    if choice is None:
        return None
    commands = re.findall(r"\w+", choice[2])
    return f"there is no command {choice[1]!r}: {nearest(choice[1], commands)}"


SENTENCES: tuple[Callable[[Refused], str | None], ...] = (
    _missing,
    _not_trusted,
    _broken_class,
    _option_of_class,
    _unknown_option,
    _plateau,
    _unknown_class,
    _class_not_named,
    _config_without_names,
    _no_choice,
    _wrong_type,
    _unknown_command,
)
"""What may have been refused; the first that fits is said."""


def _no_class(refused: Refused, path: str, option: str) -> str:
    known, first = nearest("", refused.class_names(path.rpartition(".")[2])), USUAL.get(path, "<class>")
    return f"--{path}.{option} is an option of a class, but no class is given; write --{path} {first} first, {known}"
