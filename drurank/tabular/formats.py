"""Endings of the files of tables that are read and written. Imports nothing, so that a wrong one is refused at once."""

from __future__ import annotations

DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON = (".jsonl", ".ndjson", ".json")
TEXTS = (*DELIMITERS, *JSON)
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather")
KNOWN = (*TEXTS, *PARQUET, *ARROW)
WRITTEN = (*DELIMITERS, *PARQUET)
