"""Whether a database of SQLite's holds the rows that Optuna reads, and nothing that computes them."""

from __future__ import annotations

from typing import Any

from drurank.errors import InputError

WITHOUT_ROWS = "SELECT type, name, lower(tbl_name) FROM sqlite_master WHERE rootpage = 0"
"""Views, triggers and virtual tables: what they compute may have no end, or be anything."""
COMPUTED = "SELECT name FROM pragma_table_xinfo(:table) WHERE hidden > 1"
"""Columns of a table that are computed."""


def refuse_computed(address: Any, options: dict[str, Any]) -> None:
    """Refuse a database in which something other than rows stands for one of Optuna's tables, or changes it.

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
            for kind, name, table in connection.execute(text(WITHOUT_ROWS)).all():
                if table in tables:
                    raise _refused(address, f"the {kind if kind != 'table' else 'virtual table'} {name}")
            for table in sorted(tables):
                for (name,) in connection.execute(text(COMPUTED), {"table": table}):
                    raise _refused(address, f"the computed column {table}.{name}")
    finally:
        engine.dispose()


def _refused(address: Any, what: str) -> InputError:
    return InputError(
        f"{address.database} has {what}, as no database of a study has; remove the file: finished candidates stay "
        "finished, and do not run what else came with it unless you trust it"
    )
