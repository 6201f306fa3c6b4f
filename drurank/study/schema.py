"""Whether a database of SQLite's holds the rows that Optuna reads, and nothing that computes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from drurank.errors import InputError

SCHEMA = "SELECT type, name, lower(tbl_name), CAST(sql AS TEXT) FROM sqlite_master WHERE sql IS NOT NULL"
"""SQLite itself refuses a file in which these names and kinds are not those of the text."""
COLUMNS = "SELECT name, hidden, dflt_value FROM pragma_table_xinfo(:table)"
INDEXES = "SELECT name, partial FROM pragma_index_list(:table)"
EXPRESSION = "SELECT 1 FROM pragma_index_xinfo(:table) WHERE cid = -2"
TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|$)|('(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^]]*\]|[\w$]+|[^\s\w])""", re.DOTALL
)
"""A comment, or anything else as a group."""
HARMLESS = re.compile(r"check \( \S+ (?:= \d+ \)|in \( (?:''|\d+) (?:, (?:''|\d+) )*\) \))")
"""The conditions of Optuna's tables: of one row, and, by SQLAlchemy before 1.4, of one of some names."""
LITERAL = re.compile(r"NULL|[+-]?[\d.]+|'(?:[^']|'')*'", re.IGNORECASE)


def refuse_computed(address: Any, options: dict[str, Any]) -> None:
    """Refuse a database in which something other than rows stands for one of Optuna's tables, or computes with them.

    What is computed may have no end, or fill the memory, and SQLite does not stop for a signal.

    Args:
        address: of the database, as SQLAlchemy reads it, in SQLite.
        options: for SQLAlchemy's engine.

    Raises:
        InputError: naming the database and what stands there.
    """
    from optuna.storages._rdb.models import BaseModel
    from sqlalchemy import create_engine, text

    tables = {*BaseModel.metadata.tables, "alembic_version"}
    engine = create_engine(address, **options)
    try:
        with engine.connect() as connection:
            found = _odd_entries(connection.execute(text(SCHEMA)).all(), tables)
            for table in sorted(tables):
                for name, hidden, default in connection.execute(text(COLUMNS), {"table": table}):
                    if hidden > 1:
                        found.append(f"the computed column {table}.{name}")
                    if default is not None and not LITERAL.fullmatch(default):
                        found.append(f"the computed default of {table}.{name}")
                for name, partial in connection.execute(text(INDEXES), {"table": table}).all():
                    if partial or connection.execute(text(EXPRESSION), {"table": name}).all():
                        found.append(f"the computed index {name}")
    finally:
        engine.dispose()
    if found:
        raise InputError(
            f"{address.database} has {found[0]}, as no database of a study has; remove the file: finished candidates "
            "stay finished, and do not run what else came with it unless you trust it"
        )


def _odd_entries(schema: Iterable[Any], tables: set[str]) -> list[str]:
    """What the schema has in place of these tables, on them, or as a condition of theirs."""
    found = []
    for kind, name, table, sql in schema:
        if table not in tables:
            continue
        tokens = _tokens(sql)
        if kind in ("view", "trigger"):
            found.append(f"the {kind} {name}")
        elif tokens[1:2] == ["virtual"]:
            found.append(f"the virtual table {name}")
        elif kind == "table" and "check" in HARMLESS.sub("", " ".join(tokens)).split():
            found.append(f"a condition (CHECK) on the table {name}")
    return found


def _tokens(sql: str) -> list[str]:
    """Words and signs in lower case, without what stands in quotes."""
    tokens = [token for token in TOKEN.findall(sql) if token]
    return ["''" if token[0] == "'" else '""' if token[0] in '"`[' else token.lower() for token in tokens]
