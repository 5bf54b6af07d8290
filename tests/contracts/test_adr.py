"""Title and status of decision records, in the forms in which people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.adr import described

NYGARD = "# 9. Use SQLite\n\nDate: 2026-01-02\n\n## Status\n\nAccepted\n\n## Context\n\nStatus: of things\n"
REPLACED = "# 3. Use files\n\n## Status\n\nSuperceded by [9. Use SQLite](0009-use-sqlite.md)\n\n## Context\n"
MADR = "# Use SQLite\n\n* Status: accepted\n* Deciders: Ana\n\n## Context\n"
FRONT = '---\nstatus: "proposed" # soon\ndate: 2026-01-02\n---\n\n# Use SQLite\n'
TITLED = "---\ntitle: 'Use SQLite'\nstatus: Deprecated\n---\nText\n"


@pytest.mark.parametrize(
    ("text", "title", "status"),
    [
        (NYGARD, "Use SQLite", "accepted"),
        (REPLACED, "Use files", "superseded"),
        (MADR, "Use SQLite", "accepted"),
        (FRONT, "Use SQLite", "proposed"),
        (TITLED, "Use SQLite", "deprecated"),
        (NYGARD.replace("\n", "\r\n"), "Use SQLite", "accepted"),
        ("\ufeff# ADR-0012: Use SQLite\n\n**Status:** Rejected\n", "Use SQLite", "rejected"),
        ("# ADR 7 – Use SQLite\nStatus: Accepted on 2026-01-02\n", "Use SQLite", "accepted on"),
        ("# 1. One\n## Status\n\nAccepted\n\nSuperseded by 0004\n", "One", "superseded"),
        ("# 1. One\n## Status ##\n\n*Accepted*\n", "One", "accepted"),
        ("# 2026 in review\nText\n", "in review", "no status"),
        ("# 2026\nText\n", "2026", "no status"),
        ("# One\n## Status\n## Context\naccepted\n", "One", "no status"),
        ("text only", "0007-name", "no status"),
        ("---\nstatus: accepted\n", "0007-name", "accepted"),
        ("", "0007-name", "no status"),
    ],
)  # fmt: skip
def test_the_forms(text: str, title: str, status: str) -> None:
    assert described(text, "0007-name") == (title, status)


@given(st.text(alphabet=st.sampled_from("#-*: \nstatusSTATUS0.[]`é\r"), max_size=200))
def test_any_text_has_both(text: str) -> None:
    title, status = described(text, "name")
    assert title and status
