"""What a database of a study holds beside rows, by the schema that SQLite keeps."""

import shutil
import sqlite3

import pytest
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DatabaseError

from drurank.errors import InputError
from drurank.study.schema import refuse_computed

TABLES = ("alembic_version", "studies", "study_directions", "trials", "trial_heartbeats", "trial_values")
LONG = "length(hex(zeroblob(1000000000)))"
CONDITIONS = (
    f"CHECK ({LONG} > 0)",
    f"check({LONG})",
    f"CHECK/* */({LONG})",
    f"CHECK -- IN ('a')\n ({LONG})",
    f"CONSTRAINT c CHECK (1 IN ({LONG}))",
    f"CHECK (1 IN ('a', {LONG}))",
    f"CHECK (odd IN (1)) CHECK (odd IN ('a') AND {LONG})",
    f"CHECK (odd = 1 AND {LONG})",
    f"COLLATE \"NOCASE\" CONSTRAINT 'CHECK' CHECK ({LONG})",
    f'CONSTRAINT "it\'s" CHECK ({LONG}) CONSTRAINT "it\'s"',
)
HARMLESS = (
    "",
    "INTEGER CHECK (odd=1)",
    "VARCHAR(8) CONSTRAINT studydirection CHECK (odd IN ('NOT_SET', 'MINIMIZE', 'MAXIMIZE'))",
    "CHECK (\"odd\" IN ('it''s', ')'))",
    "BOOLEAN CHECK (odd IN (0, 1))",
    "DEFAULT 'FINITE'",
    "DEFAULT NULL",
    "DEFAULT -1.5",
    "DEFAULT 'CHECK (x)' /* CHECK (x) */",
)


@pytest.fixture(scope="module")
def of_optuna(tmp_path_factory):
    """The database that Optuna makes now."""
    optuna = pytest.importorskip("optuna")
    file = tmp_path_factory.mktemp("optuna") / "study.db"
    optuna.create_study(storage=f"sqlite:///{file}")
    return file


@pytest.fixture
def change(of_optuna, tmp_path):
    """A check of Optuna's database after some commands."""

    def changed(*commands):
        file = tmp_path / "study.db"
        shutil.copy(of_optuna, file)
        with sqlite3.connect(file) as connection:
            for command in commands:
                connection.execute(command)
        connection.close()
        refuse_computed(make_url(f"sqlite:///{file}"), {})

    return changed


def with_column(table, column):
    """Commands that put a table with one more column, of the same name, in place of Optuna's."""
    return f"ALTER TABLE {table} RENAME TO old", f"CREATE TABLE {table} (odd {column})"


def test_the_database_that_optuna_makes_is_taken(change):
    change()


@pytest.mark.parametrize("column", HARMLESS)
@pytest.mark.parametrize("table", ["trials", "[TRIALS]"])
def test_what_older_versions_of_optuna_and_sqlalchemy_made_is_taken(change, table, column):
    change(*with_column(table, column), "ANALYZE")


@pytest.mark.parametrize("column", CONDITIONS)
def test_a_condition_of_a_table_is_refused(change, column):
    with pytest.raises(InputError, match=r"study\.db has a condition \(CHECK\) on the table trials, as no"):
        change(*with_column("trials", column))


@pytest.mark.parametrize("table", [*TABLES, '"trials"', "'trials'", "`trials`", "[trials]", "TRIALS"])
def test_no_table_of_optunas_has_a_condition_of_another(change, table):
    with pytest.raises(InputError, match=r"a condition \(CHECK\) on the table \w+, as no"):
        change(*with_column(table, CONDITIONS[0]))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("default", [f"({LONG})", "(1 + 1)", "CURRENT_TIMESTAMP"])
def test_a_default_that_is_computed_is_refused(change, table, default):
    with pytest.raises(InputError, match=rf"has the computed default of {table}\.odd, as no"):
        change(*with_column(table, f"DEFAULT {default}"))


@pytest.mark.parametrize(
    "index",
    [f"({LONG})", f"(trial_id, {LONG}, state)", f"(trial_id) WHERE {LONG} > 1", f"((1)) WHERE {LONG}"],
)
def test_an_index_that_computes_is_refused(change, index):
    with pytest.raises(InputError, match="has the computed index odd, as no"):
        change(f"CREATE INDEX odd ON Trials{index}")


def test_an_index_of_columns_is_taken(change):
    change("CREATE UNIQUE INDEX mine ON trials(trial_id, state COLLATE NOCASE)")


@pytest.mark.parametrize(("kind", "name"), [("table", "mine"), ("view", "mine"), ("view", "trials")])
@pytest.mark.parametrize("sql", [f"CREATE TABLE trials (odd CHECK ({LONG}))", "CREATE VIEW trials AS SELECT 1 AS odd"])
def test_a_schema_that_calls_an_entry_something_else_is_refused(change, kind, name, sql):
    with pytest.raises((InputError, DatabaseError), match=r"has the view trials|malformed database schema"):
        change(
            "DROP TABLE trials",
            "CREATE TABLE mine(a)",
            "PRAGMA writable_schema=ON",
            f"UPDATE sqlite_master SET type = '{kind}', name = '{name}', tbl_name = '{name}', sql = '{sql}' "
            "WHERE name = 'mine'",
        )


def test_a_virtual_table_is_one_by_its_text(change):
    with pytest.raises(InputError, match="has the virtual table trials, as no database of a study has"):
        change(
            "DROP TABLE trials",
            "CREATE VIRTUAL TABLE trials USING fts5(trial_id)",
            "PRAGMA writable_schema=ON",
            "UPDATE sqlite_master SET rootpage=2, sql = replace(sql,' VIRTUAL', '/**/VIRTUAL') WHERE name = 'trials'",
        )


def test_what_else_stands_beside_the_tables_is_its_owners(change):
    change(
        f"CREATE TABLE mine(a CHECK ({LONG}), b DEFAULT (1 + 1), c AS (a + 1))",
        f"CREATE INDEX of_mine ON mine({LONG}) WHERE a > 1",
        "CREATE TRIGGER odd AFTER INSERT ON mine BEGIN DELETE FROM mine; END",
        "CREATE VIEW 'my trials' AS SELECT * FROM trials",
    )
