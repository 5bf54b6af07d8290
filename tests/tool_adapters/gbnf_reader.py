"""Reads a grammar for constrained decoding and says texts that it accepts, at random: the part of the notation that
`tool_adapters.agents.gbnf` writes, read from the notation's description and not from the writer."""

from __future__ import annotations

import random
import re
from typing import Any

_TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:\\.|[^"\\])*")|(?P<set>\[(?:\\.|[^\]\\])*\])|(?P<name>[a-z0-9]+)|(?P<times>\{\d+,\d+\})|(?P<sign>[()|]))'
)
_HEX = {"x": 2, "u": 4, "U": 8}
Node = tuple[Any, ...]


class Grammar:
    """`say` gives a text; rules are looked up when they are needed."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, Node] = {}
        for line in text.splitlines():
            name, body = line.split(" ::= ", 1)
            tokens, at = list[tuple[str, str]](), 0
            while match := _TOKEN.match(body, at):
                tokens.append((match.lastgroup or "", match[match.lastgroup or ""]))
                at = match.end()
            assert at == len(body), (line, body[at:])
            node, rest = _either(tokens)
            assert not rest, (line, rest)
            assert name not in self.rules, name
            self.rules[name] = node

    def say(self, chance: random.Random, rule: str = "root") -> str:
        """One of the texts of a rule."""
        return self._say(self.rules[rule], chance)

    def _say(self, node: Node, chance: random.Random) -> str:
        match node:
            case ("text", str(text)):
                return text
            case ("set", list(ranges)):
                low, high = chance.choice(ranges)
                return chr(chance.randint(low, min(high, low + 200)))
            case ("name", str(name)):
                return self.say(chance, name)
            case ("either", list(ways)):
                return self._say(chance.choice(ways), chance)
            case ("all", list(parts)):
                return "".join(self._say(part, chance) for part in parts)
            case ("times", part, int(low), int(high)):
                count = (
                    chance.choice([low, high, chance.randint(low, high)])
                    if high < 40
                    else low + chance.randint(0, 12)
                )
                return "".join(self._say(part, chance) for _ in range(count))
        raise AssertionError(node)


def _either(tokens: list[tuple[str, str]]) -> tuple[Node, list[tuple[str, str]]]:
    ways, parts = [], list[Node]()
    while tokens:
        (kind, value), tokens = tokens[0], tokens[1:]
        if kind == "sign" and value == ")":
            ways.append(("all", parts))
            return ("either", ways), [("sign", ")"), *tokens]
        if kind == "sign" and value == "|":
            ways.append(("all", parts))
            parts = []
        elif kind == "sign":
            inner, tokens = _either(tokens)
            assert tokens[0] == ("sign", ")")
            tokens = tokens[1:]
            parts.append(inner)
        elif kind == "times":
            low, high = value[1:-1].split(",")
            assert int(low) <= int(high)
            parts[-1] = ("times", parts[-1], int(low), int(high))
        elif kind == "text":
            parts.append(("text", "".join(map(chr, _codes(value[1:-1])))))
        elif kind == "set":
            parts.append(("set", _ranges(value[1:-1])))
        else:
            parts.append(("name", value))
    ways.append(("all", parts))
    return ("either", ways), []


def _codes(text: str) -> list[int]:
    codes, at = [], 0
    while at < len(text):
        if text[at] != "\\":
            codes.append(ord(text[at]))
            at += 1
        elif text[at + 1] in _HEX:
            size = _HEX[text[at + 1]]
            codes.append(int(text[at + 2 : at + 2 + size], 16))
            at += 2 + size
        else:
            codes.append(ord({"n": "\n", "t": "\t", "r": "\r"}.get(text[at + 1], text[at + 1])))
            at += 2
    return codes


def _ranges(text: str) -> list[tuple[int, int]]:
    pieces = re.findall(r"(\\x..|\\u....|\\U.{8}|\\.|[^\\-])(?:-(\\x..|\\u....|\\U.{8}|\\.|[^\\-]))?", text)
    return [(_codes(low)[0], _codes(high or low)[0]) for low, high in pieces]
