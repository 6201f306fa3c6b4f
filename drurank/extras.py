"""Packages that come with an extra: ``pip install 'drurank[text]'``."""

from __future__ import annotations

from importlib import import_module

from drurank.errors import InputError


def check_installed(package: str, extra: str, use: str) -> None:
    """Refuse to go on without a package that comes with an extra.

    Args:
        package: what is imported next.
        extra: its name in ``drurank[...]``.
        use: what needs the package, as the subject of a sentence.

    Raises:
        InputError: naming the extra, if the package is missing.
    """
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise InputError(
            f"{use} needs the package {package}, which is not installed: pip install 'drurank[{extra}]'"
        ) from error
