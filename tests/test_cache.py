"""Cached folders and progress bars."""

import time

import pytest

from drurank import cache
from drurank.cache import bar, made_once
from drurank.errors import InputError


def test_a_place_where_nothing_can_be_kept_is_said(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match=r"nothing can be kept in .*file.*; give a folder .* cache_dir"):
            made_once(place / "key", lambda folder: None)


@pytest.mark.parametrize(("moment", "is_shown"), [(60.0, False), (0.0, True)])
def test_a_bar_is_shown_where_the_work_takes_a_moment(monkeypatch, capsys, moment, is_shown):
    monkeypatch.setattr(cache, "MOMENT", moment)
    begun = time.monotonic()
    with bar("Doing", 3, "things") as advance:
        if is_shown:
            time.sleep(0.2)
        advance(3)
    assert time.monotonic() - begun < 30
    assert ("3 of 3 things" in capsys.readouterr().out) is is_shown


def test_a_bar_ends_with_what_fails(monkeypatch):
    monkeypatch.setattr(cache, "MOMENT", 0.0)
    with pytest.raises(OSError, match="full"):
        _fail_within_a_bar()
    with bar("Doing", 3, "things") as advance:  # no other one is live
        time.sleep(0.1)
        advance(3)


def _fail_within_a_bar():
    with bar("Doing", 3, "things"):
        time.sleep(0.1)
        raise OSError("full")
