"""Generated state schemas, values valid under them, and patches that the agent may send."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from contracts.base import JsonObject
from contracts.dialect_merge import removable, writable
from contracts.state import walk

NAMES = ["a", "bb", "c/d", "e~f", "*", "with space", "ü", 'q"', ""]
KEYS = st.text(alphabet="abcxyz09._-", min_size=1, max_size=6)
PLAIN_TEXT = r"^[\t\n\r -\uffff]*$"
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=6)
CONTROL = st.text(alphabet='\x00\x01\x1f\x7f"\\\n\u2028😀é', max_size=6)
Drawn = st.SearchStrategy[JsonObject]


def strings() -> Drawn:
    return st.builds(
        lambda size, plain: {
            "type": "string",
            "maxLength": size,
            **({"pattern": PLAIN_TEXT} if plain else {}),
        },
        st.integers(0, 6),
        st.booleans(),
    )


def scalars() -> Drawn:
    low = st.integers(-999, 999)
    return st.one_of(
        strings(),
        low.map(lambda start: {"type": "integer", "minimum": start, "maximum": start + 50}),
        st.just({"type": "number"}),
        st.just({"type": "boolean"}),
        st.just({"enum": ["todo", "doing", 3, True]}),
        st.just({"const": "only"}),
        st.just({"type": ["string", "integer"], "maxLength": 3}),
    )


def lists() -> Drawn:
    return st.builds(
        lambda item, most: {"type": "array", "maxItems": most, "items": item}, scalars(), st.integers(0, 4)
    )


@st.composite
def objects(draw: st.DrawFn, fields: Drawn, governed: bool = True, least: int = 0) -> JsonObject:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=least, max_size=4, unique=True))
    properties = {name: dict(draw(fields)) for name in names}
    for node in properties.values():
        if governed and draw(st.integers(0, 7)) == 0:
            node["x-owner"] = draw(st.sampled_from(["user", "controller", "agent"]))
    required = [name for name in names if draw(st.booleans())]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


@st.composite
def maps(draw: st.DrawFn, entries: Drawn) -> JsonObject:
    node: JsonObject = {
        "type": "object",
        "maxProperties": draw(st.integers(0, 3)),
        "propertyNames": {"pattern": "^[a-z0-9._-]{1,6}$"},
        "additionalProperties": draw(entries),
    }
    if draw(st.integers(0, 3)) == 0:
        node["properties"] = {"fixed": draw(scalars())}  # named and free keys in one object
    if draw(st.integers(0, 5)) == 0:
        node["x-change-policy"] = "append-only"
    return node


def unions(branch: Drawn) -> Drawn:
    """A field that is a text or an object."""
    return st.builds(lambda text, other: {"anyOf": [text, other]}, strings(), branch)


ENTRIES = objects(scalars() | lists())
FIELDS = st.recursive(
    scalars() | lists(),
    lambda inner: st.one_of(
        objects(inner), maps(inner), maps(ENTRIES), unions(objects(scalars(), governed=False))
    ),
    max_leaves=8,
)
STATE_SCHEMAS = objects(FIELDS, least=1)


def values(node: Any, hostile: bool = False) -> st.SearchStrategy[Any]:
    """Values valid under a generated schema."""
    if "const" in node:
        return st.just(node["const"])
    if "enum" in node:
        return st.sampled_from(node["enum"])
    if "anyOf" in node:
        return st.one_of([values(one, hostile) for one in node["anyOf"]])
    kind = node["type"]
    if isinstance(kind, list):
        return st.one_of([values({**node, "type": one}, hostile) for one in kind])
    if kind == "string":
        return texts(node, hostile)
    if kind == "integer":
        return st.integers(node.get("minimum", -(2**63)), node.get("maximum", 2**63 - 1))
    if kind == "number":
        return st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**63 - 1)
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.lists(values(node["items"], hostile), max_size=node["maxItems"])
    return object_values(node, hostile)


def texts(node: JsonObject, hostile: bool) -> st.SearchStrategy[str]:
    size = node["maxLength"]
    if "pattern" in node:
        allowed = st.characters(min_codepoint=32, max_codepoint=0xFFFF, exclude_categories=("Cs",))
        return st.text(alphabet=allowed | st.sampled_from('\t\n\r"\\'), max_size=size)
    return (CONTROL if hostile else ANY_TEXT).map(lambda text: text[:size])


@st.composite
def object_values(draw: st.DrawFn, node: JsonObject, hostile: bool) -> JsonObject:
    result = {
        name: draw(values(child, hostile))
        for name, child in node.get("properties", {}).items()
        if name in node.get("required", ()) or draw(st.booleans())
    }
    rest = node["additionalProperties"]
    if rest is not False:
        room = max(0, node["maxProperties"] - len(result))
        for key in draw(st.lists(KEYS, max_size=room, unique=True)):
            result.setdefault(key, draw(values(rest, hostile)))
        while len(result) > node["maxProperties"]:
            result.popitem()
    return result


@st.composite
def patches(draw: st.DrawFn, node: Any) -> Any:
    """Merge patches that the agent may send for a field of this schema."""
    if "anyOf" in node:
        return draw(patches(draw(st.sampled_from(node["anyOf"]))))
    if node.get("type") != "object":
        return draw(values(node))
    open_to_agent = all(writable(one) for _, one in walk(node, ()))
    if node["additionalProperties"] is False and open_to_agent and draw(st.booleans()):
        return draw(values(node))  # all of it at once
    patch: JsonObject = {}
    for name, child in node.get("properties", {}).items():
        if writable(child) and draw(st.booleans()):
            gone = removable(name, node) and draw(st.integers(0, 3)) == 0
            patch[name] = None if gone else draw(patches(child))
    rest = node["additionalProperties"]
    if rest is not False and writable(rest):
        for key in draw(st.lists(KEYS, max_size=3, unique=True)):
            if key not in node.get("properties", {}):
                gone = removable(None, node) and draw(st.integers(0, 3)) == 0
                patch[key] = None if gone else draw(patches(rest))
    return patch
