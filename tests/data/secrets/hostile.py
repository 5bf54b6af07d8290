"""Data that makes a careless pattern try again and again: beginnings of secrets without their ends."""

from __future__ import annotations

from collections.abc import Iterator

from contracts.secret_shapes import TOKENS

UNITS = (
    b"eyJ", b"eyJa.", b"eyJaaaaaaaaaaa.", b"://", b"://a:", b"://a:b@", b"-----BEGIN PRIVATE KEY-----",
    b"-----BEGIN PRIVATE KEY-----\n", b"-----END PRIVATE KEY-----\n", b"AAAA\n-----END PRIVATE KEY-----\n",
    b"A" * 63 + b"\n", b"\\n-----BEGIN RSA PRIVATE KEY-----\\nA", b"-", b"password=", b"password:", b'password="',
    b"password='", b'password="\\', b"password: x = ", b"token token ", b"--token ", b"key=", b"API_KEY=",
    b'api_key=\\"', b"login a password ", b"login ", b" -p", b"mysql -pa1b2c3", b"-u a:", b"--user a:", b"Basic ",
    b"Basic QUFB", b"Bearer a1", b"Authorization: a ", b"Authorization:", b"sk-A1", b"aaa1Q~", b"1234567890:AA",
    b"pass=", b"secret_key=", b"auth: QUFBOkFB", b"<password>", b'key="a" value=', b"password\0=", b"aaaaaaa=",
    b"?sig=", b"?token=", b"pass?=", b"-u=a:", b"token=" * 12 + b"x" * 2000 + b" ", b"    password   =    ", b"password?: a.b|c", b'password["a"] : ', b"x" * 29, b"\xff",
)  # fmt: skip


def inputs(size: int) -> Iterator[tuple[bytes, bytes]]:
    """(what is repeated, `size` bytes of it)."""
    for unit in (*UNITS, *dict.fromkeys(shape.anchor for shape in TOKENS)):
        yield unit, (unit * (size // len(unit) + 1))[:size]
