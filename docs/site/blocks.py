"""The blocks of a page: commands, code and what they say."""

from __future__ import annotations

import re

BLOCK = re.compile(r"(<!-- not run: .+? -->\n)?^```(\w+)(?: title=\"(.+?)\")?\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
"""Reason why a block is not run, its language, the name of its file and its text."""
