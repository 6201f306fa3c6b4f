"""Parsers whose errors are one sentence and suggest the closest known option."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any, NoReturn

from jsonargparse import ArgumentParser

from drurank.errors import SHORTEST, InputError, nearest
from drurank.imports import why_not_trusted
from drurank.terminal import visible

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
OF_OPTIMIZER = {
    **dict.fromkeys(("lr", "learning_rate", "rate"), ("AdamW", "lr")),
    **{name: ("AdamW", name) for name in ("weight_decay", "betas", "eps")},
    "momentum": ("SGD", "momentum"),
}
"""Names by which options of an optimizer are asked for, to a class that has the option, and what it is called."""
CLOSE = 0.8
"""Likeness of a name from which on it is meant for an option of another section."""
SCHEDULERS = ("torch.optim.lr_scheduler", "lightning.pytorch.cli")


class SentenceParser(ArgumentParser):
    """Ends on an error with one sentence, and accepts no abbreviated options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """End the process with one sentence; while the parser only tries a value, raise as it expects."""
        if not self.exit_on_error:
            super().error(message, ex)
        self.exit(2, f"error: {visible(explain(message, self.all_options(), self.class_names))}\n")
        raise AssertionError("unreachable")

    def class_names(self, key: str) -> list[str]:
        """Names of the classes that this option takes; empty if it takes none."""
        return []

    def let_stand_alone(self, *names: str) -> None:
        """Let these boolean options be given without a value, which then means true."""
        for action in self._actions:
            if action.dest in names:
                action.nargs, action.const = "?", True

    def all_options(self) -> list[str]:
        """All options with their dashes, those of subcommands too."""
        parsers = [self]
        for action in self._actions:
            if isinstance(action.choices, dict):
                parsers += action.choices.values()
        return list(dict.fromkeys(option for parser in parsers for option in parser._option_string_actions))


def explain(message: str, options: list[str], class_names: Callable[[str], list[str]]) -> str:
    """One sentence from an error message of jsonargparse.

    Args:
        message: its error message.
        options: the options that the parser knows, with their dashes.
        class_names: gives the names of the classes that an option takes.
    """
    path = ".".join(re.findall(r'[Pp]arser key "([^"]+)"', message))
    missing = re.search(r"the following arguments are required: ([\w., ]+?)(?:\. |$)", message, re.MULTILINE)
    if missing:
        names = [
            f"{path}.{name.strip()}" if path else name.strip().partition(".")[2] or name.strip()
            for name in missing[1].split(",")
        ]
        are, them = ("are", "them") if len(names) > 1 else ("is", "it")
        said = f"{', '.join(f'--{name}' for name in names)} {are} missing; give {them} on the command line"
        said = f"{said} or by --config" if "--config" in options else said
        return f"{said}{SIZES_INSTEAD}" if any(".network." in name for name in names) else said
    denied = re.search(r"Importing '([\w.]+)' is not allowed", message)
    if denied:
        return f"--{path}: {why_not_trusted(denied[1])}"
    broken = _broken_class(message)
    if broken is not None:
        return f"--{path} {broken[0]}: {broken[1]}"
    option = re.search(r"Option '([^']+)' is not accepted(.*)", message)
    if option:
        owner = re.search(r"class_path='([\w.]+)'", option[2]) or _last(r"given class_path '([\w.]+)'", message)
        name = owner[1] if owner else path
        if not name:
            return f"there is no option --{option[1]}: {nearest_option(f'--{option[1]}', options)}"
        if name in ANY_CLASS:
            return _no_class(f"{path}.{option[1]}", path, class_names)
        return f"{name.rpartition('.')[2]} has no option {option[1]!r}: {nearest_argument(option[1], options_of(name))}"
    foreign = re.search(r"does not accept option '([\w.]+)'|[Kk]ey '?\"?([\w.]+)'?\"? is not expected", message)
    unknown = re.search(r"[Uu]nrecognized arguments: (\S+)", message)
    if unknown or foreign:
        word = unknown[1] if unknown else f"--{foreign[1] or foreign[2]}"  # type: ignore[index]
        return f"there is no option {word.split('=')[0]}: {nearest_option(word.split('=')[0], options)}"
    if re.search(r"(Given|Got) value: [^A-Z]*ReduceLROnPlateau", message):
        return "to watch a criterion write lightning.pytorch.cli.ReduceLROnPlateau, with .monitor val_qdcg10"
    no_class = re.search(r"Expected a dot import path string: (\S+)", message)
    if no_class:
        kind = path.rpartition(".")[2]
        return f"there is no {kind or 'class'} {no_class[1]!r}: {nearest(no_class[1], class_names(kind))}"
    unnamed = re.search(r"Given value: NestedArg\(key='([\w.]+)'", message)
    if unnamed and "Problem with given class_path" not in message:
        return _no_class(f"{path}.{unnamed[1]}", path, class_names)
    config = re.search(r"(?:Unexpected config|Problems parsing config): (.*)", message, re.DOTALL)
    if config and not path:
        return f"--config does not hold named options: {' '.join(config[1].split())[:200]}; give a YAML file of options"
    literal = re.search(r"Expected a typing\.Literal\[(.*?)\]\. Got value: (\S+)", message)
    if literal:
        known = re.findall(r"'([^']+)'", literal[1])
        return f"--{path} is {literal[2]!r}: {nearest(literal[2], known)}"
    plain = re.findall(r"Expected a <class '(\w+)'>", message)
    value = re.search(r"(?:Got value|Given value): (.*)", message)
    choices = re.findall(r"'([^']+)'", " ".join(re.findall(r"- Expected a typing\.Literal\[(.*?)\]$", message, re.M)))
    if choices and value and path:
        return f"--{path} is {value[1].strip()!r}: {nearest(value[1].strip(), choices)}"
    if "Problem with given class_path" in message and plain[-1:] == ["NoneType"]:
        plain.pop()  # Of the class as a whole.
    if plain and value and path and value[1].strip() == "None":
        wanted = " or ".join(dict.fromkeys(PLAIN.get(name, name) for name in plain if name != "NoneType"))
        return f"--{path} holds null; give {wanted}, and if the word null is meant put it in quotes"
    if plain and value and path:
        wanted = " or ".join(dict.fromkeys(PLAIN.get(name, name) for name in plain))
        if wanted == "nothing":
            return f"--{path} {value[1].strip()!r} cannot be used here; see --{path}.help"
        return f"--{path} is {value[1].strip()!r}; give {wanted}"
    choice = re.search(r"invalid choice: '(\w+)' \(choose from (.*)\)", message)
    if choice:
        commands = re.findall(r"\w+", choice[2])
        return f"there is no command {choice[1]!r}: {nearest(choice[1], commands)}"
    return " ".join(re.sub(r'Parser key "([^"]+)":', r"--\1:", message).split())


def import_problem(class_path: str) -> str | None:
    """Why an import path names no class that can be imported; ``None`` if it does, or this is no import path."""
    module, _, name = class_path.rpartition(".")
    if not module or not all(part.isidentifier() for part in class_path.split(".")):
        return None
    untrusted = why_not_trusted(class_path)
    if untrusted is not None:
        return untrusted
    try:
        found = importlib.import_module(module)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            return f"there is no module {error.name!r}, neither in the current folder nor installed"
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return f"the module {module} cannot be imported ({said})"
    if isinstance(getattr(found, name, None), type):
        return None
    if hasattr(found, name):
        return "that is a function, not a class; give a class" if callable(getattr(found, name)) else "give a class"
    classes = [key for key, value in vars(found).items() if isinstance(value, type)]
    return f"the module {module} has no {name!r}: {nearest(name, classes)}"


def _broken_class(message: str) -> tuple[str, str] | None:
    """The class that an error is about, and why it cannot be imported; ``None`` if it is about something else."""
    if not re.search(r"class_path|callable class|[Ss]ubclass", message):
        return None
    named = re.findall(r"(?:given class_path|Given value:|Got value:|val=)\s*'?([A-Za-z_][\w.]*)'?", message)
    for class_path in dict.fromkeys(reversed(named)):
        problem = import_problem(class_path)
        if problem is not None:
            return class_path, problem
    return None


def _no_class(option: str, path: str, class_names: Callable[[str], list[str]]) -> str:
    known = nearest("", class_names(path.rpartition(".")[2]))
    return f"--{option} is an option of a class, but no class is given; write --{path} <class> first, {known}"


def reason_of(error: BaseException | None) -> InputError | None:
    """The ``InputError`` in an exception's chain of causes, if there is one."""
    while error is not None and not isinstance(error, InputError):
        error = error.__cause__ or error.__context__
    return error


def _last(pattern: str, text: str) -> re.Match[str] | None:
    found = list(re.finditer(pattern, text))
    return found[-1] if found else None


def options_of(class_path: str) -> list[str]:
    """Names of the arguments that a class, given by its import path, takes from the command line."""
    module, _, name = class_path.rpartition(".")
    if why_not_trusted(class_path) is not None:
        return []
    try:
        target = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        return []
    if not isinstance(target, type):
        return []
    names: dict[str, None] = {}
    for base in inspect.getmro(target):
        if "__init__" in vars(base) and base is not object:
            parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
            names |= {p.name: None for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
            if not any(p.kind == p.VAR_KEYWORD for p in parameters):
                break
    # Set by the training loop or the class itself, not by the user.
    given = {"self", "sizes", "params", *getattr(target, "fixed", ())}
    given |= {"optimizer"} if module in SCHEDULERS else set()
    return [name for name in names if name not in given]


def nearest_option(word: str, options: list[str]) -> str:
    """The end of a sentence about an unknown option: one with the same last part, or the closest."""
    known = [option for option in options if option.startswith("--") and not option.endswith(("+", ".help"))]
    head, _, rest = word.partition(".")
    same = [option for option in known if rest and option.startswith(f"{head}.")]
    top = [option for option in known if "." not in option and not option.startswith("--print_shtab")]
    if word == "--run" and "--ckpt_path" in known:
        return "to continue a run give --ckpt_path <run>/checkpoints/last.ckpt"
    if not rest and len([option for option in top if option.startswith(head)]) == 1:
        return nearest(head, top)
    alike = _with_last_part(_last_part(word), same or known)
    if alike is None and "--model" in known:
        alike = of_optimizer(_last_part(word))
    if alike is not None:
        return f"did you mean {alike!r}?"
    if same:
        return nearest(word, same, _last_part)
    of_top = nearest(head, top)
    close = difflib.get_close_matches(_last_part(word), map(_last_part, known), n=1, cutoff=CLOSE)
    if close and not of_top.startswith("did you mean"):
        return f"did you mean {next(option for option in known if _last_part(option) == close[0])!r}?"
    return of_top


def nearest_argument(name: str, known: list[str]) -> str:
    """The end of a sentence about an unknown argument of a class: one of its optimizer, or the closest of its own."""
    inner = of_optimizer(name) if "optimizer" in known else None
    return nearest(name, known) if inner is None else f"did you mean {inner!r}?"


def of_optimizer(name: str) -> str | None:
    """What is typed for an option of the optimizer, whose class must be named before; ``None`` if it is none."""
    found = OF_OPTIMIZER.get(name)
    return None if found is None else f"--model.optimizer {found[0]} --model.optimizer.{found[1]}"


def _last_part(option: str) -> str:
    return option.rpartition(".")[2].lstrip("-")


def _with_last_part(last: str, known: list[str]) -> str | None:
    """The first option whose last part is this one, or ends in it as ``max_epochs`` does in ``epochs``."""
    exact = [option for option in known if _last_part(option) == last]
    begun = [option for option in known if _last_part(option).startswith(last)]
    word = last.rstrip("s")
    ends = [option for option in known if _last_part(option).rstrip("s").endswith(f"_{word}")]
    if exact:
        return exact[0]
    return ends[0] if ends and not begun and len(word) >= SHORTEST else None
