"""Writing files so that a kill leaves the old one or the new one, never half of one."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from drurank.errors import InputError
from drurank.limits import refuse_large
from drurank.shapes import check_shape

try:
    import fcntl
except ImportError:  # Windows has no such lock, and leftovers stay there
    fcntl = None  # type: ignore[assignment]

TEMPORARY = ".drurank"
"""Ends the name of a file that is being written."""
NAMED = re.compile(rf"\..+\.\d+{re.escape(TEMPORARY)}", re.DOTALL)
LONGEST = 200
"""Bytes of a name from which on its temporary file has a short one, since most file systems take 255 in all."""
_cleaned: set[Path] = set()
"""Folders in which this process has looked for leftovers."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Have ``write`` write a file beside ``path``, then put it in its place in one step.

    A link is followed, so that what it leads to is written; what is no file, as a pipe, is written to as it is.

    Raises:
        OSError: naming ``path``, if that cannot be done; what was there is then as it was.
    """
    with _naming(path):
        target = _target_of(path)
        if target.exists() and not (target.is_file() or target.is_dir()):
            write(target)
            return
        with _temporary(target) as beside:
            write(beside)
            beside.replace(target)


def replace_files(writers: Mapping[Path, Callable[[Path], object]], removed: Iterable[Path] = ()) -> None:
    """Have several files written beside their places, in this order, and put in them once all are written.

    Args:
        writers: what writes each file.
        removed: files that go then, where they are there.

    Raises:
        OSError: naming the file that cannot be written; what was there is then as it was, as it is after a signal.
    """
    made, earlier = dict[Path, tuple[Path, Path]](), dict[Path, Path]()
    removed = [path for path in removed if path.is_file()]
    with ExitStack() as stack:
        for path, write in writers.items():
            with _naming(path):
                target = _target_of(path)
                beside = stack.enter_context(_temporary(target))
                write(beside)
                made[path] = beside, target
        for target in [*(target for _, target in made.values() if target.is_file()), *removed]:
            with _naming(target):
                earlier[target] = stack.enter_context(_temporary(target))
                shutil.copy2(target, earlier[target])
        try:
            for path, (beside, target) in made.items():
                with _naming(path):
                    beside.replace(target)
            for path in removed:
                with _naming(path):
                    path.unlink()
        except BaseException:
            put = [target for beside, target in made.values() if not beside.exists()]
            for target in [*put, *(path for path in removed if not path.exists())]:
                if target in earlier:
                    earlier[target].replace(target)
                else:
                    target.unlink(missing_ok=True)
            raise


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name a file in an error: that of a full disk names none, or the temporary one."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _target_of(path: Path) -> Path:
    """What is written for a path, in a folder that is there and has no leftovers."""
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = target.parent.absolute()
    if folder not in _cleaned:
        _cleaned.add(folder)
        remove_leftovers(folder)
    return target


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """A file beside another, locked while it is written, so that others can tell it from what a killed process left."""
    name = target.name
    if len(os.fsencode(name)) > LONGEST:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    beside, held = _made(target, name)
    try:
        yield beside
    finally:
        beside.unlink(missing_ok=True)
        if held is not None:
            os.close(held)


def _made(target: Path, name: str) -> tuple[Path, int | None]:
    """A new file beside another, and it open and locked; ``None`` where there are no locks."""
    while True:
        # Nobody can put a link there before, since the name is not known.
        beside = target.with_name(f".{name}.{secrets.randbelow(10**9)}{TEMPORARY}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            held = os.open(beside, flags, 0o666)
        except FileExistsError:
            continue
        if fcntl is None:
            os.close(held)
            return beside, None
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            os.close(held)
            return beside, None
        if _is_at(beside, held):
            return beside, held
        os.close(held)  # another process took it for a leftover


def _locked(file: Path) -> int | None:
    """The open file, locked; ``None`` where another process writes it, or there are no locks."""
    if fcntl is None:
        return None
    held = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    if _is_at(file, held):
        return held
    os.close(held)
    return None


def _is_at(file: Path, held: int) -> bool:
    try:
        return os.path.samestat(os.lstat(file), os.fstat(held))
    except FileNotFoundError:
        return False


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder; those that are being written stay."""
    try:
        found = [Path(entry) for entry in os.scandir(folder) if entry.name.endswith(TEMPORARY)]
    except OSError:
        return
    for file in found:
        if NAMED.fullmatch(file.name) and file.is_file() and not file.is_symlink():
            with suppress(OSError):
                held = _locked(file)
                if held is not None:
                    file.unlink(missing_ok=True)
                    os.close(held)


def missing_folders(folder: Path) -> list[Path]:
    """A folder and its parents, those that are not there, the innermost first."""
    return [one for one in (folder, *folder.parents) if not one.exists()]


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove these folders, up to the first that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def begins_with(file: Path, line: str) -> bool:
    """Whether the first line of a text file is this one, with or without quotes; not where there is no file."""
    if not file.is_file():
        return False
    with file.open("rb") as content:
        first = content.readline()
    return first.rstrip(b"\r\n").replace(b'"', b"") == line.replace('"', "").encode()


def as_json(content: Any) -> str:
    """Plain values as indented JSON."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: Path, content: Any) -> None:
    """Write plain values as indented JSON, in one step."""
    text = as_json(content)
    replace_file(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def owner_of(file: Path) -> tuple[str, Path] | None:
    """The ``run`` or ``study`` that wrote a file and reads it again, with its folder; ``None`` if neither did."""
    from drurank.run_folder.layout import is_of_run  # here, since these are of folders that this module knows not of
    from drurank.study.folder import is_of_study

    file = file.resolve()
    for folder in [*file.parents][:3]:
        for kind, is_of in (("run", is_of_run), ("study", is_of_study)):
            if is_of(folder, file.relative_to(folder)):
                return kind, folder
    return None


def refuse_existing(
    files: Iterable[Path], *, overwrite: bool | None, inputs: Sequence[str] = (), of: Path | None = None
) -> None:
    """Refuse outputs that clash, are folders, are read or are a run's or a study's, and to replace files unasked.

    Every command that writes what a person may have named calls it first.

    Args:
        files: what is to be written.
        overwrite: whether files that exist are replaced; ``None`` where nobody can ask for it.
        inputs: files that are read, which are never replaced.
        of: folder of the run or study that writes them, if they are its own.

    Raises:
        InputError: naming the first that is there, or clashes with another.
    """
    files = list(files)
    _refuse_clashes(files)
    for file in files:
        if file.is_dir():
            raise InputError(f"{file} is a folder; give another output")
        above = next(folder for folder in file.absolute().parents if folder.exists())
        if not above.is_dir():
            raise InputError(f"{above} is no folder, so {file} cannot be in it; give another output")
        read = [name for name in inputs if file.exists() and os.path.exists(name) and file.samefile(name)]
        if read:
            raise InputError(f"{file} would be written over, and is what is read; give another output")
        owner = owner_of(file) if file.is_file() else None
        if owner is not None and (of is None or owner[1] != of.resolve()):
            kind, folder = owner
            raise InputError(
                f"{file} would be written over, and is a file of the {kind} in {folder}; give another output"
            )
        if file.is_file() and not overwrite:
            more = ", or overwrite=True to replace it" if overwrite is not None else ""
            raise InputError(f"{file} exists; give another output{more}")


def _refuse_clashes(files: Sequence[Path]) -> None:
    """Refuse outputs of which one would replace another, or lie in it."""
    places = dict[str, Path]()
    for file in files:
        place = os.path.realpath(file)
        if place in places:
            raise InputError(f"{file} would be written over by another output of the same name; give another output")
        places[place] = file
    for place, file in places.items():
        above = next((places[str(folder)] for folder in Path(place).parents if str(folder) in places), None)
        if above is not None:
            raise InputError(f"{above} is to be a file and {file} is to lie in it; give another output")


def refuse_pipe(path: Path, remedy: str) -> None:
    """Refuse what is there and is no file: a pipe would be waited for.

    Raises:
        InputError: naming it and the remedy.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file; {remedy}")


def read_json(path: Path, remedy: str, shape: Mapping[str, Any] | None = None) -> Any:
    """The content of a JSON file.

    Args:
        path: of the file.
        remedy: end of the sentence about a file that cannot be used.
        shape: keys and kinds of the values that are read of it, see ``check_shape``; any, if not given.

    Raises:
        InputError: naming the file and the remedy, if it is not JSON, of another shape, too large, or no file.
    """
    refuse_pipe(path, remedy)
    refuse_large(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged and cannot be read as JSON; {remedy}") from error
    if shape is not None:
        check_shape(str(path), content, shape, remedy)
    return content


def said_of(error: OSError) -> str | None:
    """One sentence about a file that cannot be read or written; ``None`` where the error names no file."""
    why = " ".join((error.strerror or str(error)).split())
    if error.errno in FULL:
        return (
            f"no space left to write {error.filename or 'a file of the run'} ({why}); free some space and run it again"
        )
    if error.filename is None:
        return None
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    # Nothing more can be asked of a path that is too long.
    for link in (path, *path.parents) if path is not None and error.errno != errno.ENAMETOOLONG else ():
        if link.is_symlink() and not link.exists():
            return f"{link} is a link to {os.readlink(link)}, which is not there; give another path, or make that one"
    return f"{error.filename} cannot be used: {why}; give another path, or fix its permissions"
