"""`recall` as a user calls it."""

from __future__ import annotations

from tests.surfaces.shell import POLITE, READ, Shell, act

KEEP = act("list_files", {"notes": {"tz": "naive everywhere"}})
DROP = act("list_files", {"notes": {"tz": None}}, depth=1)


def test_what_a_run_forgot_is_found_from_the_shell(shell: Shell) -> None:
    shell.task(KEEP, DROP, READ, *POLITE)
    assert shell("recall", "naive").code == 2, "there is no run yet"
    assert shell("run", "--steps", "3").code == 0
    told = shell("recall", "naive")
    assert told.code == 0 and "step 1  state  /notes/tz, removed at step 2" in told.out
    assert "    naive everywhere" in told.out and "1 place found" in told.out
    one = shell("recall", "naiv every", "--kind", "state", "--kind", "output", "--limit", "1", "--json").one
    assert [hit["place"] for hit in one["hits"]] == ["/notes/tz, removed at step 2"] and one["all_words"]
    assert one["run"] == shell("status", "--json").one["run"]
    nothing = shell("recall", "naive", "--kind", "action", "--run", "#1")
    assert nothing.code == 0 and "nothing found; searched: " in nothing.out
    assert "no word" in shell("recall", "…").out
    for wrong in (["x", "--kind", "thought"], ["x", "--limit", "0"], ["x", "--run", "#9"], []):
        assert shell("recall", *wrong).code == 2, wrong


def test_doctor_has_nothing_to_say_where_full_text_search_is_there(shell: Shell) -> None:
    assert not [line for line in shell("doctor", "--json").one["notices"] if "recall" in line]
