"""The built-in tools as data: what each is called, takes, may change, and says of itself to the model."""

from __future__ import annotations

from contracts.actions import ActionSpec, closed, const, listed
from contracts.base import JsonObject
from contracts.deed_tools import DEED_EXAMPLES, DEED_SPECS
from contracts.recall import KINDS, MAX_QUERY, MAX_RECALLED

MAX_RANGES = 6
MAX_RANGE_LINES = 400
MAX_RANGE_BYTES = 12 * 1024
MAX_BATCH = 8
MAX_PAYLOAD = 64 * 1024
MAX_HITS = 80
MAX_HITS_PER_FILE = 5
MAX_TREE_LINES = 200

WRITES = ("edit_files", "apply_patch")
READS = ("read_files", "list_files", "search", "recall")
BATCHED = (*WRITES, "run", *READS)

_PATH: JsonObject = {"type": "string", "minLength": 1, "maxLength": 500}
_GLOB: JsonObject = {"type": "string", "minLength": 1, "maxLength": 200}
_LINE: JsonObject = {"type": "integer", "minimum": 1, "maximum": 100_000_000}
_TIMES: JsonObject = {"type": "integer", "minimum": 1, "maximum": 100_000}
_FLAG: JsonObject = {"type": "boolean"}
_BODY: JsonObject = {"type": "string", "maxLength": MAX_PAYLOAD}
_OLD: JsonObject = {"type": "string", "minLength": 1, "maxLength": MAX_PAYLOAD}


_EDITS: JsonObject = {
    "anyOf": [
        closed(
            {"op": const("replace"), "path": _PATH, "old": _OLD, "new": _BODY, "count": _TIMES},
            ("op", "path", "old", "new"),
        ),
        closed({"op": const("write"), "path": _PATH, "content": _BODY}, ("op", "path", "content")),
        closed({"op": const("delete"), "path": _PATH}, ("op", "path")),
        closed(
            {"op": const("copy"), "path": _PATH, "source": _PATH, "from": _LINE, "to": _LINE, "move": _FLAG},
            ("op", "path", "source"),
        ),
        closed(
            {"op": const("replace_all"), "glob": _GLOB, "old": _OLD, "new": _BODY, "expect": _TIMES},
            ("op", "glob", "old", "new", "expect"),
        ),
    ]
}

SPECS: dict[str, ActionSpec] = {
    spec.name: spec
    for spec in (
        ActionSpec(
            "read_files",
            closed(
                {
                    "files": listed(
                        closed({"path": _PATH, "from": _LINE, "to": _LINE, "at": _LINE}, ("path",)),
                        MAX_RANGES,
                    )
                },
                ("files",),
            ),
            "line ranges of up to 6 files, 400 lines or 12 KiB each; a large file without a range gives its "
            "outline; `at` reads a long line (`from`) on from that character; path `artifact:ID` reads a kept output",
        ),
        ActionSpec(
            "list_files",
            closed({"path": _PATH, "depth": {"type": "integer", "minimum": 1, "maximum": 12}, "glob": _GLOB}),
            "folders and files with counts, depth 2 unless told; with `glob` the matching paths",
        ),
        ActionSpec(
            "search",
            closed(
                {
                    "pattern": {"type": "string", "minLength": 1, "maxLength": 500},
                    "paths": listed(_GLOB, 10),
                    "regex": {"type": "boolean"},
                    "ignore_case": {"type": "boolean"},
                },
                ("pattern",),
            ),
            "lines that hold a text (or match a Python regular expression); `paths` are globs",
        ),
        ActionSpec(
            "recall",
            closed(
                {
                    "query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY},
                    "kinds": listed({"type": "string", "enum": list(KINDS)}, len(KINDS)),
                    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_RECALLED},
                },
                ("query",),
            ),
            "words in what this run knew or saw and is shown no more: state entries since removed, actions, "
            "outputs, decisions",
        ),
        ActionSpec(
            "edit_files",
            closed({"edits": listed(_EDITS, 60)}, ("edits",)),
            "all edits or none, in order; `old` must occur exactly `count` times (1 unless told); at most 64 KiB; copy "
            "appends lines of a file (or of `artifact:ID`) to another, `move` takes them out of the first",
            effect="edit",
        ),
        ActionSpec(
            "apply_patch",
            closed({"patch": {"type": "string", "minLength": 1, "maxLength": MAX_PAYLOAD}}, ("patch",)),
            "a unified diff, all or nothing; context must match exactly",
            effect="edit",
        ),
        ActionSpec(
            "batch",
            closed(
                {
                    "actions": listed(
                        closed(
                            {"tool": {"type": "string", "enum": list(BATCHED)}, "args": {"type": "object"}},
                            ("tool", "args"),
                        ),
                        MAX_BATCH,
                    )
                },
                ("actions",),
            ),
            "up to 8 actions in this order: edits, then at most one run, then reads, which see the tree "
            "after the edits",
            effect="command",
            alone=True,
        ),
        ActionSpec(
            "run",
            closed(
                {
                    "command": {"type": "string", "maxLength": 40},
                    "params": {
                        "type": "object",
                        "maxProperties": 16,
                        "additionalProperties": {"type": "string", "maxLength": 1000},
                    },
                },
                ("command",),
            ),
            "one of the named commands, and nothing else",
            effect="command",
        ),
        ActionSpec(
            "ask",
            closed(
                {
                    "question": {"type": "string", "minLength": 1, "maxLength": 2000},
                    "options": listed({"type": "string", "minLength": 1, "maxLength": 200}, 6),
                },
                ("question",),
            ),
            "a question to a person; the run waits for the answer",
            effect="none",
            alone=True,
        ),
        ActionSpec(
            "request_change",
            closed(
                {
                    "at": {"type": "string", "minLength": 2, "maxLength": 300},
                    "value": {"type": "string", "minLength": 1, "maxLength": 4000},
                    "why": {"type": "string", "minLength": 1, "maxLength": 1000},
                    "source": {"type": "string", "minLength": 3, "maxLength": 200},
                },
                ("at", "why"),
            ),
            "proposes to the user what only they may change: /intent/goal, /intent/SECTION/ITEM (its id or number; `-` "
            "adds one) or a locked /state/FIELD (value as JSON); without value it is removed; at /schema/FIELD a "
            "bounded field more for the state (value: its JSON Schema); `source` (step:N, artifact:ID, …) is what "
            "speaks against it",
            effect="none",
            alone=True,
        ),
        ActionSpec(
            "wait",
            closed(
                {
                    "authority": {"type": "string", "minLength": 1, "maxLength": 40},
                    "is": listed({"type": "string", "minLength": 1, "maxLength": 40}, 8),
                    "until": {"type": "string", "pattern": "^[1-9][0-9]{0,4}[smhd]$"},
                },
                ("authority",),
            ),
            "until an authority is one of the words `is` (the first unless told), at most `until` (24h unless told); "
            "nothing is asked of you meanwhile",
            effect="none",
            alone=True,
        ),
        ActionSpec(
            "finish",
            closed({"summary": {"type": "string", "minLength": 1, "maxLength": 4000}}, ("summary",)),
            "says that the goal is reached; all checks are run, and only they decide",
            effect="none",
            alone=True,
        ),
        *DEED_SPECS,
    )
}

EXAMPLES: dict[str, str] = {
    "read_files": '{"files":[{"path":"src/a.py","from":1,"to":120},{"path":"README.md"}]}',
    "list_files": '{"path":"src","depth":2}',
    "search": '{"pattern":"text_type|six","paths":["src/**/*.py"],"regex":true,"ignore_case":true}',
    "recall": '{"query":"tz naive","kinds":["state","output"],"limit":5}',
    "edit_files": '{"edits":[{"op":"replace","path":"a.py","old":"x = 1\\n","new":"x = 2\\n","count":1},'
    '{"op":"write","path":"b.py","content":"…"},{"op":"delete","path":"c.py"},'
    '{"op":"copy","path":"d.py","source":"a.py","from":40,"to":90,"move":true},'
    '{"op":"replace_all","glob":"src/**/*.py","old":"foo(","new":"bar(","expect":12}]}',
    "apply_patch": '{"patch":"--- a/x.py\\n+++ b/x.py\\n@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n"}',
    "request_change": '{"at":"/intent/constraints/2","value":"…","why":"…"}',
    "ask": '{"question":"…","options":["yes","no"]}',
    "finish": '{"summary":"…"}',
    "submit": '{"summary":"…"}',
    "batch": '{"actions":[{"tool":"edit_files","args":{…}},{"tool":"run","args":{…}},'
    '{"tool":"read_files","args":{…}}]}',
    **DEED_EXAMPLES,
}
