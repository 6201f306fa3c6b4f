"""Python code of the user that is imported by its name, and which other code may be."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from drurank.current_folder import find_here
from drurank.errors import InputError
from drurank.yaml_files import TEXTS

PREFIX = "drurank_import_"
"""Begins the name of a module that is a file."""
ALWAYS = ("drurank", "torch", "lightning")
"""Packages whose classes any file may name."""
CLASS_OPTIONS = frozenset(
    {
        "class_path",
        "model",
        "data",
        "network",
        "loss",
        "optimizer",
        "lr_scheduler",
        "callbacks",
        "logger",
        "strategy",
        "accelerator",
        "plugins",
        "profiler",
    }
)
"""Options that name a class, by the last part of their name."""
OF_TEXT = frozenset({"model.positive", *(f"data.{name}" for name in TEXTS)})
"""Options whose values are names of columns, labels and files, which others may have chosen, and no classes."""
NO_KIND = ("abc", "builtins", "typing")
"""Modules whose classes are bases of classes of every kind."""
CLASS_PATH = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*")
_imported: list[str] = []
_named: set[str] = set()
"""Classes that a person named, by import path or by name alone."""
_whole: set[str] = set()
"""Packages that a person named to be imported."""


def import_code(name: str) -> None:
    """Import code once in this process; only ever what a person named.

    Args:
        name: a Python file, as ``my_criteria.py``, or a module that is installed.

    Raises:
        InputError: if it is not found, or fails.
    """
    is_file = name.endswith(".py")
    known = str(Path(name).expanduser().resolve()) if is_file else name
    if known in _imported:
        return
    if not is_file:
        find_here(name.partition(".")[0])
    if is_file and not Path(known).is_file():
        raise InputError(f"there is no file {name} to import; give a Python file, as my_criteria.py, or a module")
    try:
        if is_file:
            _run(Path(known))
        else:
            import_module(name)
    except InputError:
        raise
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{name} cannot be imported ({said}); mend what that names, or name another file") from error
    _imported.append(known)
    _whole.add(PREFIX + Path(known).stem if is_file else name.partition(".")[0])
    if is_file and _is_module_here(Path(known)):
        _whole.add(Path(known).stem)


def _is_module_here(file: Path) -> bool:
    """Whether a file is what the module of its name is, so that a run may name its classes by that: ``mine.Net``."""
    if file.parent != Path.cwd() or not file.stem.isidentifier():
        return False
    find_here(file.stem)
    spec = find_spec(file.stem)
    return spec is not None and spec.origin == str(file)


def trust(content: Any, option: str = "") -> None:
    """Let the classes that a person names be imported, such as ``mine.nets.Wide``.

    A name counts where an option takes a class, elsewhere only if it is a path whose last name is written like a class:
    ``last.ckpt`` and ``table.csv`` are files. Names of columns, labels and files never count.

    Args:
        content: a value that was typed, or the content of a configuration that is named there, nested; never what a
            run's folder holds.
        option: what the value was given for, with what that is an option of.
    """
    if isinstance(content, Mapping):
        for name, value in content.items():
            every = f"{option}.{name}".removesuffix("+").split(".")
            place = [part for part in every if part not in ("", "init_args")]
            if ".".join(place[:2]) not in OF_TEXT:
                trust(value, ".".join(place))
    elif isinstance(content, list | tuple):
        for value in content:
            trust(value, option)
    elif isinstance(content, str) and CLASS_PATH.fullmatch(content):
        package, _, rest = content.partition(".")
        is_path_of_class = bool(rest) and content.rpartition(".")[2][:1].isupper()
        if option.rpartition(".")[2] in CLASS_OPTIONS or is_path_of_class:
            _named.add(content)
            if rest:
                find_here(package)


def is_named(class_path: str, found: Any) -> bool:
    """Whether a person named this class, or had its package imported.

    Args:
        class_path: by which a file names it.
        found: the class, or what else is there.
    """
    if class_path in _named or class_path.partition(".")[0] in _whole:
        return True
    return class_path.rpartition(".")[2] in _named and isinstance(found, type) and _is_only_of_its_name(found)


def _is_only_of_its_name(found: type) -> bool:
    """Whether its name alone means this class to the parser, of all that are loaded and of one kind with it."""
    seen = {found}
    waiting: list[type] = [base for base in found.__mro__ if base.__module__ not in NO_KIND]
    while waiting:
        below: list[type] = type.__subclasses__(waiting.pop())
        for one in below:
            if one not in seen:
                if one.__name__ == found.__name__:
                    return False
                seen.add(one)
                waiting.append(one)
    return True


def trusted_packages() -> set[str]:
    """Packages of which a file may name classes: ours, torch, Lightning, those imported already and those trusted.

    None is of Python's standard library, whose classes start processes and delete files.
    """
    imported = {name for name in list(sys.modules) if "." not in name}
    named = {path.partition(".")[0] for path in _named if "." in path}
    return {name for name in {*ALWAYS, *named, *_whole, *imported} if is_trusted(name)}


def trust_changes() -> tuple[int, ...]:
    """Another value than before where ``trusted_packages`` may be others."""
    return len(sys.modules), len(_named), len(_whole)


def is_trusted(package: str) -> bool:
    """Whether it is one of ``trusted_packages``."""
    if package in sys.stdlib_module_names or package == "jsonargparse" or not package.isidentifier():
        return False
    return package in ALWAYS or package in sys.modules or _is_named_package(package)


def _is_named_package(package: str) -> bool:
    """Whether a person had a package imported, or named a class of it."""
    return package in _whole or any(path.startswith(f"{package}.") for path in list(_named))


def need(class_path: str) -> None:
    """Note that a run is of a class of the user's, so that commands about the run name its package."""
    package = class_path.partition(".")[0]
    if package not in (*ALWAYS, *_imported, *_whole) and not package.startswith(PREFIX):
        _imported.append(package)


def why_not_trusted(class_path: str) -> str | None:
    """Why a class is not imported, and what to do; ``None`` if it may be.

    Of a trusted package, modules that nothing has imported yet are only if a person named the package, or it is one of
    ``ALWAYS`` and they are not private: there are modules that start a program as they are imported.
    """
    package, *parts = class_path.split(".")
    if package in sys.stdlib_module_names:
        return f"{class_path} belongs to Python's standard library, which no option takes a class from"
    not_named = f"{class_path} is not imported, since"
    if not is_trusted(package):
        return (
            f"{not_named} {package} is not named on the command line and is not part of drurank, torch or Lightning; "
            f"if you trust its code, add --import {package}"
        )
    if package == "__main__" or class_path in _named or _is_loaded(class_path):
        return None
    if "__main__" in parts:
        return f"{not_named} its module __main__ is a program; name a class of another module"
    if package not in ALWAYS:
        in_use = f"{not_named} its module is none that is in use; if you trust its code, add --import {package}"
        return None if _is_named_package(package) else in_use
    private = [] if package in _whole else [part for part in parts if part.startswith("_")]
    return f"{not_named} {private[0]} is private to {package}; name another class" if private else None


def _is_loaded(class_path: str) -> bool:
    """Whether nothing is imported to find it."""
    parts = class_path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:length]))
        if module is not None:
            return hasattr(module, parts[length])
    return False


def refuse_missing(path: str) -> None:
    """Refuse a class of imported code where that code was not imported in this process.

    Args:
        path: import path of the class, as a configuration or a checkpoint names it.

    Raises:
        InputError: naming the file to import.
    """
    module = path.partition(".")[0]
    if module.startswith(PREFIX) and module not in sys.modules:
        name = shlex.quote(f"{module.removeprefix(PREFIX)}.py")
        raise InputError(f"the run was made with --import {name}; give it again, before the other words")


def import_words() -> list[str]:
    """Words of the command line by which a process of our own imports what this one did."""
    return [word for name in _imported for word in ("--import", name)]


def own_program() -> list[str]:
    """Words that start this program in another process, for which no module lies in the current folder."""
    return [sys.executable, "-P", "-m", "drurank", *import_words()]


def _run(file: Path) -> None:
    spec = spec_from_file_location(f"{PREFIX}{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Dataclasses and pickle look a module up by its name.
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
