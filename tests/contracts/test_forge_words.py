"""Words on a forge: whose, on what, and what is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.forge_api import Comment, harmless
from contracts.forge_marks import keys, ours
from contracts.forge_words import Place, governs, heard, posted
from contracts.queue import Answer, Entry

PLACE = Place("request", 1)
RUN = f"tidy@{'0123456789' * 4}#1"


def entry(**more: Any) -> Entry:
    said: dict[str, Any] = {
        "id": "a5", "kind": "approval", "step": 5, "why": "git_push needs a person's yes", "opened": 100.0,
        "transition": {"state_patch": {}, "action": {"tool": "git_push", "args": {}}},
        "who": ("ana", "github:Ana", "github:bob"), "expires": 1000.0,
    }  # fmt: skip
    return Entry(**said | more).sealed(())


A5 = entry()
H = A5.hash[:12]


def comment(body: str, by: str = "ana", **more: Any) -> Comment:
    return Comment(**{"id": "comment 7", "by": by, "body": body, "made": 200.0, "edited": False} | more)


def put(of: Entry = A5, **more: Any) -> Comment:
    text = posted(of, RUN, "github", ())
    return comment(text, "bot", **{"id": "comment 1", "made": 150.0} | more)


def words(*said: Comment, of: Entry = A5, now: float = 300.0) -> tuple[Any, ...]:
    return heard(PLACE, [put(of), *said], [of], "github", now).words


# ---- yes and no -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    [
        f"approve a5 {H}",
        f"Looks right.\n\n/approve a5 {A5.hash}\n",
        f"APPROVE A5 {H.upper()}.",
        f"  approve  a5\t{H} ",
        f"> somebody said reject a5 {H}\n\napprove a5 {H}",
        f"approve a5 {H}\n<details>more</details>",
        f"approve a5 {H}\r\nthanks",
    ],
)
def test_a_yes(text: str) -> None:
    (word,) = words(comment(text))
    assert (word.yes, word.by, word.hash, word.entry, word.at) == (True, "github:Ana", A5.hash, "a5", 300.0)
    assert word.via.startswith("request 1 comment 7 ")


def test_a_no_has_its_reason() -> None:
    (word,) = words(comment(f"reject a5 {H} because it is Friday\nand late"))
    assert (word.yes, word.why) == (False, "because it is Friday")


@pytest.mark.parametrize(
    "text",
    [
        "approve a5",
        f"approve {H}",
        f"approve a6 {H}",
        f"approve a5 {H[:11]}",
        f"approve a5 {'0' * 12}",
        f"I do not approve a5 {H}",
        f"approve a5 {H} not yet",
        f"approve a5 {H}?",
        f"> approve a5 {H}",
        f"> he said\napprove a5 {H}",
        f"> he said\nand more\napprove a5 {H}",
        f"<pre>\napprove a5 {H}\n</pre>",
        f"<blockquote>\n\napprove a5 {H}",
        f"<!--\napprove a5 {H}\n-->",
        f"- approve a5 {H}",
        f"`approve a5 {H}`",
        f"```\napprove a5 {H}\n```",
        f"~~~~\n```\napprove a5 {H}\n~~~~",
        f"    approve a5 {H}",
        f"approve a5 {H}\nreject a5 {H}",
        f"answer a5 {H} yes",
        "",
    ],
)
def test_no_word(text: str) -> None:
    assert words(comment(text)) == ()


def test_whose_word_counts() -> None:
    text = f"approve a5 {H}"
    for by in ("eve", "bot", "", "github:ana", "ana "):
        assert words(comment(text, by)) == (), by
    assert words(comment(text, "BOB"))[0].by == "github:bob"
    assert words(comment(text), of=entry(who=("ana",))) == (), "a name of this machine is none of the forge"
    assert words(comment(text), of=entry(who=())) == (), "everybody can write there"
    assert words(comment(text), of=entry(who=("gitlab:ana",))) == ()


def test_what_was_edited_or_is_ours_or_came_too_late_does_not_count() -> None:
    text = f"approve a5 {H}"
    assert words(comment(text, edited=True)) == ()
    assert words(comment(f"{text}\n\n<!-- skill-state run=tidy@0123#1 keys={'0' * 32} -->")) == ()
    assert words(comment(text), now=1001.0) == (), "the entry is out of date"
    assert words(comment(text, made=149.0)) == (), "said before it was put there"
    assert words(comment(text))


def test_what_was_put_there_and_then_edited_is_put_anew() -> None:
    yes = comment(f"approve a5 {H}")
    told = heard(PLACE, [put(edited=True), yes], [A5], "github", 300.0)
    assert (told.missing, told.words) == ((A5,), ())
    again = put(id="comment 9", made=250.0)
    told = heard(PLACE, [put(edited=True), yes, again], [A5], "github", 300.0)
    assert (told.missing, told.words) == ((), ()), "the yes was on what it was made into"
    assert heard(PLACE, [again, comment(f"approve a5 {H}", made=260.0)], [A5], "github", 300.0).words


def test_the_first_word_first_and_a_no_still_takes_a_yes_back() -> None:
    yes, no = comment(f"approve a5 {H}", made=210.0), comment(f"reject a5 {H}", "bob", made=220.0)
    assert [word.yes for word in words(no, yes)] == [True, False]
    done = A5.model_copy(update={"status": "approved", "decider": "ana"})
    assert [word.yes for word in heard(PLACE, [put(), yes, no], [done], "github", 300.0).words] == [False]


def test_a_question_is_answered() -> None:
    asked = entry(id="q3", kind="ask", expires=None)
    (word,) = words(comment(f"answer q3 {asked.hash[:12]} use the first\nand no other"), of=asked)
    assert isinstance(word, Answer) and word.text == "use the first\nand no other"
    assert words(comment(f"approve q3 {asked.hash[:12]}"), of=asked) == ()


# ---- what is put there ------------------------------------------------------------------------------------
def test_an_entry_is_shown_whole() -> None:
    text = put().body
    assert A5.hash in text and "git_push" in text and f"\napprove a5 {H}\n" in text and "Ana, bob" in text
    assert "Ana, bob writes" in text and " ana," not in text
    assert keys(text) == (A5.hash[:32],) and ours(text) and governs(text)
    assert governs(f"approve a5 {H}") and not governs("I approve.") and not governs("Please look.")


PARTS = ["```", "\n", "~~~", "`", "a", "/", "@ana ", f"approve a5 {H}"]


@given(text=st.one_of(st.text(), st.lists(st.sampled_from(PARTS)).map("".join)))
def test_nothing_in_an_entry_is_a_word_or_ends_its_block(text: str) -> None:
    shown = entry(why=text[:2000], diff=text, target=text[:400], basis={"head": text})
    body = posted(shown, RUN, "github", ())
    assert words(comment(body.replace("<!--", "<!-")), of=shown) == () or text.count(shown.hash[:12])
    assert "says an agent" in harmless(f"**a5 of run x waits for a decision** {text}")


@pytest.mark.parametrize("part", ["action", "diff"])
def test_nobody_says_yes_in_a_comment_to_what_it_can_not_show_whole(part: str) -> None:
    long = "x" * 9_000 + " hidden " + "y" * 21_000
    args = {"body": long} if part == "action" else {}
    large = entry(
        transition={"state_patch": {}, "action": {"tool": "pr_comment", "args": args}},
        diff=long * (part == "diff"),
    )
    shown, short = posted(large, RUN, "github", ()), large.hash[:12]
    assert "hidden" not in shown and f"approve a5 {short}" not in shown
    assert "`controller approvals show a5` shows it" in shown and len(shown) < 65_536
    assert words(comment(f"approve a5 {short}"), of=large) == ()
    (word,) = words(comment(f"reject a5 {short}"), of=large)
    assert not word.yes
