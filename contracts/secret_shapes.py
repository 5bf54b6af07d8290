"""What credentials look like: tokens with a vendor's mark, keys in armour, URLs with a password, and values that a
name like `password` gives away.

Each shape has an anchor, a literal that is looked for first; its pattern is tried only there. Patterns are
bounded, and possessive where one could otherwise try again, so that the time grows with the length of the data
alone, whatever the data. A repeated group stands in an atomic one instead: before 3.11.5 Python matches possessive
repeats of groups wrongly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from contracts.secret_names import buried, named
from contracts.secret_values import is_basic, looks_random, plausible

REACH = 1024  # bytes before a secret that may decide that it is one
LONGEST = 16 * 1024  # bytes of the longest secret that is found


class Span(NamedTuple):
    """A secret in a text: byte offsets, and of what kind it is."""

    start: int
    end: int
    name: str


@dataclass(frozen=True)
class Shape:
    """A token that can be told by itself. Its pattern begins `back` bytes before the anchor; where it has a
    group, that is the secret."""

    name: str
    anchor: bytes
    pattern: re.Pattern[bytes]
    back: tuple[int, ...] = (0,)


# A token begins here: after no letter or digit, but for the end of an escape (\n, %3D, \u003d, a colour). `_ALONE`:
# nor in the middle of a name with dashes (`.sk-folding-cube`, `node-key-<digest>`).
_ESCAPE = (
    rb"(?<=\\[nrtbfv])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\u00[0-9A-Fa-f][0-9A-Fa-f])"
    rb"|(?<=\[[0-9]m)|(?<=[\[;][0-9][0-9]m)"
)
_FREE = rb"(?:(?<![A-Za-z0-9])|" + _ESCAPE + rb")"
_ALONE = rb"(?:(?<![A-Za-z0-9_-])|" + _ESCAPE + rb")"
_END = rb"(?![A-Za-z0-9])"
_W = rb"[A-Za-z0-9_-]"
_A = rb"[A-Za-z0-9]"
_H = rb"[0-9a-f]"


def _shape(
    name: str, anchor: str, rest: bytes, *, free: bytes = _FREE, back: tuple[int, ...] = (0,)
) -> Shape:
    return Shape(name, anchor.encode(), re.compile(free + rest, re.DOTALL), back)


def _after(name: str, anchor: str, rest: bytes) -> Shape:
    """The usual case: the anchor begins the token."""
    return _shape(name, anchor, re.escape(anchor.encode()) + rest)


_SOME = rb"(?=[A-Za-z_-]{0,99}+[0-9])(?=[a-z0-9_-]{0,99}+[A-Z])"

TOKENS: tuple[Shape, ...] = (
    *(_after("aws_key", mark, rb"[A-Z0-9]{16}" + _END) for mark in ("AKIA", "ASIA", "ABIA", "ACCA")),
    *(_after("github_token", f"gh{kind}_", _A + rb"{36,255}") for kind in "pousr"),
    _after("github_token", "github_pat_", rb"[A-Za-z0-9_]{22,255}"),
    *(
        _after("gitlab_token", mark, rb"[A-Za-z0-9_.-]{20,300}")
        for mark in (
            *("glpat-", "gldt-", "glptt-", "glrt-", "glrtr-", "glcbt-", "gloas-", "glft-", "glimt-"),
            *("glagent-", "glsoat-", "glffct-", "GR1348941"),
        )
    ),
    _shape("api_key", "sk-", rb"sk-" + _SOME + _W + rb"{20,300}", free=_ALONE),
    *(
        _after("slack_token", f"xox{kind}-", rb"(?=[A-Za-z-]{0,99}+[0-9])[A-Za-z0-9-]{10,255}")
        for kind in "abeoprs"
    ),
    _after("slack_token", "xapp-", rb"[0-9]-[A-Za-z0-9-]{20,255}"),
    _after("slack_token", "xoxe.xox", rb"[bp]-[A-Za-z0-9-]{20,255}"),
    _after("slack_webhook", "https://hooks.slack.com/", rb"[a-z]{4,16}/[A-Za-z0-9_/]{30,100}"),
    _shape(
        "discord_webhook", "/api/webhooks/", rb"/api/webhooks/([0-9]{17,20}/" + _W + rb"{60,80})", free=b""
    ),
    *(
        _after("stripe_key", f"{kind}_{mode}_", _A + rb"{10,255}")
        for kind in ("sk", "rk")
        for mode in ("live", "test", "prod")
    ),
    _after("stripe_key", "whsec_", rb"[A-Za-z0-9+/=]{24,100}"),
    _after("npm_token", "npm_", _A + rb"{36}" + _END),
    _after("pypi_token", "pypi-AgE", _W + rb"{40,300}"),
    _after("sendgrid_key", "SG.", _W + rb"{16,32}\." + _W + rb"{32,64}"),
    _after("huggingface_token", "hf_", rb"[A-Za-z]{30,40}" + _END),
    _after("huggingface_token", "api_org_", rb"[A-Za-z]{34}" + _END),
    _after("google_key", "AIza", _W + rb"{35}(?!" + _W + rb")"),
    _after("google_secret", "GOCSPX-", _W + rb"{28}"),
    _after("google_token", "ya29.", rb"[A-Za-z0-9_.-]{20,2000}"),
    _after("google_token", "1//0", _W + rb"{30,255}"),
    _after("twilio_key", "SK", _H + rb"{32}" + _END),
    _shape(
        "jwt",
        "eyJ",
        rb"eyJ" + _W + rb"{10,2000}+\.eyJ" + _W + rb"{10,8000}+\." + _W + rb"{10,2000}+",
        free=_ALONE,
    ),
    _after("digitalocean_token", "do", rb"[opr]_v1_" + _H + rb"{64}"),
    _after("shopify_token", "shp", rb"(?:at|ss|ca|pa)_[0-9a-fA-F]{32}"),
    _shape(
        "telegram_token",
        ":AA",
        rb"(?<![0-9])[0-9]{8,10}:AA" + _W + rb"{33}(?!" + _W + rb")",
        free=b"",
        back=(10, 9, 8),
    ),
    _after("databricks_token", "dapi", _H + rb"{32}" + _END),
    _after("vault_token", "hv", rb"[sbr]\." + _W + rb"{24,300}"),
    _after("docker_token", "dckr_", rb"(?:pat|oat)_" + _W + rb"{20,64}"),
    _shape("mailgun_key", "key-", rb"key-" + _H + rb"{32}" + _END, free=_ALONE),
    _shape("mailchimp_key", "-us", _H + rb"{32}-us[0-9]{1,2}" + _END, free=_ALONE, back=(32,)),
    _after("grafana_token", "glsa_", _A + rb"{32}_[0-9A-Fa-f]{8}"),
    _after("grafana_token", "glc_", rb"[A-Za-z0-9+/]{32,400}={0,2}"),
    _after("linear_key", "lin_", rb"(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    _after("atlassian_token", "ATATT3", rb"[A-Za-z0-9_=-]{100,300}"),
    _after("bitbucket_token", "ATBB", _A + rb"{32}" + _END),
    _after("atlassian_token", "ATCTT3", rb"[A-Za-z0-9_=-]{100,300}"),
    _shape(
        "azure_secret",
        "Q~",
        rb"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])",
        free=rb"(?<![A-Za-z0-9_~-])",
        back=(4,),
    ),
    _after("newrelic_key", "NRAK-", rb"[A-Z0-9]{27}"),
    _after("newrelic_key", "NRII-", _W + rb"{32}"),
    _after("postman_key", "PMAK-", _H + rb"{24}-" + _H + rb"{34}"),
    _after("age_key", "AGE-SECRET-KEY-1", rb"[A-Z0-9]{58}"),
    _after("rubygems_key", "rubygems_", _H + rb"{48}"),
    _after("sentry_token", "sntry", rb"[us]_[A-Za-z0-9_+/=-]{60,300}"),
    _after("square_token", "sq0", rb"(?:atp|csp)-" + _W + rb"{22,60}"),
    _after("square_token", "EAAA", _W + rb"{60}(?!" + _W + rb")"),
    _after("groq_key", "gsk_", _A + rb"{48,60}"),
    _after("xai_key", "xai-", _A + rb"{70,90}"),
    _after("perplexity_key", "pplx-", _A + rb"{40,60}"),
    _after("replicate_token", "r8_", _A + rb"{37}" + _END),
    _after("notion_token", "ntn_", _A + rb"{40,60}"),
    _after("figma_token", "figd_", _W + rb"{36,60}"),
    _after("doppler_token", "dp.", rb"(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,80}"),
    _after("pulumi_token", "pul-", _H + rb"{40}" + _END),
    _after("planetscale_token", "pscale_", rb"(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,64}"),
    _after("supabase_token", "sbp_", _H + rb"{40}" + _END),
    _after("supabase_token", "sb_secret_", _W + rb"{20,60}"),
    _after("circleci_token", "CCIPAT_", _A + rb"{20,30}_" + _H + rb"{40}"),
    _after("crates_token", "cio", _A + rb"{32}" + _END),
    _after("nuget_key", "oy2", rb"[a-z0-9]{43}" + _END),
    _after("airtable_token", "pat", _A + rb"{14}\." + _H + rb"{64}"),
    _after("dropbox_token", "sl.", _W + rb"{130,1400}"),
    _after("artifactory_token", "AKCp", _A + rb"{69}"),
    _after("artifactory_token", "cmVmd", _A + rb"{59}" + _END),
    _after("alibaba_key", "LTAI", rb"[A-Za-z0-9]{16,24}" + _END),
    _after("fly_token", "fm2_", rb"[A-Za-z0-9+/=_-]{60,2000}"),
    _after("terraform_token", ".atlasv1.", _W + rb"{60,80}"),
    _after("langsmith_key", "lsv2_", rb"[ps][tk]_" + _H + rb"{32}_" + _H + rb"{10}"),
    _after("onepassword_token", "ops_eyJ", rb"[A-Za-z0-9+/=_-]{200,2000}"),
    _after("flutterwave_key", "FLWSECK", rb"_?[A-Za-z0-9_-]{12,60}"),
    # A private key once more in base64, as a kubeconfig has it; a certificate begins otherwise.
    _after(
        "private_key",
        "LS0tLS1CRUdJTi",
        rb"(?:BSU0EgUFJJVkFURSBL|BQUklWQVRFIEtF|BFQyBQUklWQVRFIEtF|BPUEVOU1NIIFBSSVZB|BFTkNSWVBURUQgUFJJ)"
        rb"[A-Za-z0-9+/]{40,16000}+={0,2}",
    ),
    _after("paypal_token", "access_token$", rb"(?:production|sandbox)\$[0-9a-z]{16}\$" + _H + rb"{32}"),
)

# ---- keys in armour ----------------------------------------------------------------------------------------
_ARMOUR = re.compile(
    rb"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:(?>(?:[^-]|-(?!----)){0,16000})(-?-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----)"
    # cut off: as many lines of base64 as follow
    rb"|(?>(?:(?:\r?\n|\\r\\n|\\n)[ \t+>|-]{0,16}+(?:[0-9]{1,7}[|:])?"
    rb"(?:[A-Za-z0-9+/=]{1,128}+(?=[\r\n\\\"']|\Z))?){0,120}))"
)
_EMPTY = 110  # a head and a tail with nothing to speak of between them
_ARMOUR_END = re.compile(rb"-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----")
_ARMOUR_LINE = re.compile(rb"[ \t+>|-]{0,16}+(?:[0-9]{1,7}[|:])?[A-Za-z0-9+/=]{1,128}+\r?")


def _armour(data: bytes) -> Iterator[Span]:
    at = data.find(b"-----BEGIN ")
    while at >= 0:
        found = _ARMOUR.match(data, at)
        if found and found.end() - at > (_EMPTY if found[1] else _EMPTY // 2):
            yield Span(at, found.end(), "private_key")
        at = data.find(b"-----BEGIN ", found.end() if found else at + 11)
    at = data.find(b"-----END ")
    while at >= 0:
        if end := _ARMOUR_END.match(data, at):
            yield from _beheaded(data, at, end.end())
        at = data.find(b"-----END ", at + 9)


def _beheaded(data: bytes, at: int, end: int) -> Iterator[Span]:
    """A key whose first lines are not there: the lines of base64 before its last."""
    begin = line_end = data.rfind(b"\n", max(0, at - 16), at) + 1 or at
    while line_end > at - 15_000:
        line_begin = data.rfind(b"\n", max(0, line_end - 160), line_end - 1) + 1
        if line_begin == 0 and line_end > 160:
            break
        if not _ARMOUR_LINE.fullmatch(data, line_begin, line_end - 1) or line_begin >= line_end - 1:
            break
        begin = line_end = line_begin
        if begin == 0:
            break
    if at - begin > 16:
        yield Span(begin, end, "private_key")


# ---- passwords in URLs -------------------------------------------------------------------------------------
_URL = re.compile(
    rb"://(?:([^\s/?#@:\"'`<>\\,;(){}\[\]|]{0,128}+):([^\s/?#\"'`<>\\,;(){}|]{1,256})@|([A-Za-z0-9_-]{20,128}+)@)"
)


def _urls(data: bytes) -> Iterator[Span]:
    at = data.find(b"://")
    while at >= 0:
        if found := _URL.match(data, at):
            user, password, alone = found.groups()
            if password is not None:
                if plausible("url", password):
                    yield Span(*found.span(2), "url_password")
                if len(user) >= 20 and looks_random(user):
                    yield Span(*found.span(1), "url_password")
            elif looks_random(alone):
                yield Span(*found.span(3), "url_password")
        at = data.find(b"://", at + 3)


# ---- headers and command lines -----------------------------------------------------------------------------
_SCHEME = re.compile(
    rb"(?:asic(?:[ \t]{1,4}|%20|\+)([A-Za-z0-9+/_-]{8,1024}+={0,2})"
    rb"|earer(?:[ \t]{1,4}|%20|\+)([A-Za-z0-9._~+/-]{16,4096}+={0,2}))"
)
_OTHER = re.compile(
    rb"uthorization[\"']?\]?[ \t]{0,4}(?:=>|[:=,])[ \t]{0,4}[\"']?(?:[A-Za-z][A-Za-z-]{1,20}[ \t]{1,4})?"
    rb"([A-Za-z0-9._~+/=:-]{10,4096}+)"
)
_USER = re.compile(rb"-(?:u|-user)(?:[ \t]{1,4}|=)['\"]?[A-Za-z0-9_.@%+-]{1,64}+:([^\s'\"`]{4,256}+)")
_LOGIN = re.compile(
    rb"login[ \t\r\n]{1,40}[^\s]{1,128}+[ \t\r\n]{1,40}password[ \t\r\n]{1,40}([^\s\"',;]{4,256}+)"
)
_SHORT = re.compile(rb" -p[ \t]{0,2}['\"]?([^\s'\"`|;&]{5,256}+)")
_SIGNED = re.compile(rb"(?<=[?&])sig=([A-Za-z0-9%+/=_-]{40,255})")
_TAKES_P = (
    b"mysql",
    b"mariadb",
    b"sshpass",
    b"docker login",
    b"podman login",
    b"mongo",
    b"registry login",
    b"skopeo",
)
_CONTEXT: tuple[tuple[bytes, re.Pattern[bytes], str], ...] = (
    (b"uthorization", _OTHER, "token"),
    (b"-u", _USER, "password"),
    (b"login", _LOGIN, "password"),
    (b" -p", _SHORT, "password"),
    (b"sig=", _SIGNED, "token"),
)


def _lines(data: bytes) -> Iterator[Span]:
    for mark in (b"asic", b"earer"):
        at = data.find(mark)
        while at >= 0:
            if found := _SCHEME.match(data, at):
                basic, bearer = found.groups()
                if (basic and is_basic(basic)) or (bearer and plausible("bearer", bearer)):
                    yield Span(*found.span(1 if basic else 2), "authorization")
            at = data.find(mark, at + len(mark))
    for mark, pattern, kind in _CONTEXT:
        at = data.find(mark)
        while at >= 0:
            found, end = None if buried(data, at) else pattern.match(data, at), at + len(mark)
            if found and plausible(kind, found[1]) and _fits(mark, data, at, found[1]):
                yield Span(*found.span(1), kind)
                end = found.end()
            at = data.find(mark, end)


def _fits(mark: bytes, data: bytes, at: int, value: bytes) -> bool:
    """Whether `-p` on this command line is a password; whether a bare credential has a digit."""
    if mark == b" -p":
        front = data[max(0, at - 200) : at]
        return any(each in front[front.rfind(b"\n") + 1 :] for each in _TAKES_P)
    return mark != b"uthorization" or any(48 <= byte <= 57 for byte in value)


# Most anchors hold a character that prose and JSON have few of. There what stands before it is looked up, for all
# anchors at once, which is faster than to look for each of them while there is at most one in DENSE bytes.
DENSE = 48
_Headed = dict[bytes, list[Shape]]
_MARKED: dict[bytes, _Headed] = {b"_": {}, b"-": {}}
_PLAIN: list[Shape] = []
for _each in TOKENS:
    _mark = next((mark for mark in _MARKED if mark in _each.anchor), None)
    if _mark is None:
        _PLAIN.append(_each)
    else:
        _MARKED[_mark].setdefault(_each.anchor.partition(_mark)[0], []).append(_each)
_SIZES = {mark: sorted({len(head) for head in headed}) for mark, headed in _MARKED.items()}


def anchored(data: bytes) -> Iterator[Shape]:
    """The shapes whose anchors may be in `data`: all that are there, and some more."""
    yield from _PLAIN
    for mark, headed in _MARKED.items():
        if data.count(mark) * DENSE > len(data):
            heads = set(headed)
        else:
            heads = set()
            at = data.find(mark)
            while at >= 0:
                heads.update(data[at - size : at] for size in _SIZES[mark] if size <= at)
                at = data.find(mark, at + 1)
        for head in heads & headed.keys():
            yield from headed[head]


def spans(data: bytes) -> list[Span]:
    """Every secret in `data` that can be told by its looks; they may overlap; not in order."""
    found: list[Span] = []
    for shape in anchored(data):
        at = data.find(shape.anchor)
        while at >= 0:
            step = 1
            for back in shape.back:
                match = shape.pattern.match(data, at - back) if at >= back else None
                if match and b"EXAMPLE" not in match[0]:
                    found.append(Span(*match.span(match.lastindex or 0), shape.name))
                    step = max(1, match.end() - at)
                    break
            at = data.find(shape.anchor, at + step)
    for find in (_armour, _urls, _lines):
        found += find(data)
    found += [Span(*each) for each in named(data)]
    return found
