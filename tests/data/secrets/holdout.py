"""The second corpus: never used for tuning. It was written before the shapes were, and is held by a digest.

Scenes as they come out of real tools (CI logs, debug dumps, traces, configuration of many languages), each with a
fake secret, between lines that only look like secrets. Misses on it are counted, not looked at one by one."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable
from urllib.parse import quote

from tests.data.secrets.corpus import Corpus, plant

DIGITS, HEX = string.digits, string.digits + "abcdef"
LOWER, UPPER = string.ascii_lowercase, string.ascii_uppercase
ALNUM, WEB = string.ascii_letters + DIGITS, string.ascii_letters + DIGITS + "-_"
WORDS = (
    "harbor maple quartz lantern falcon cobalt meadow tundra saffron pixel drift ember canyon orbit velvet "
    "glacier thistle bramble copper willow"
).split()


class Scenes:
    """What can be leaked, and how."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    # ---- parts -------------------------------------------------------------------------------------------------
    def of(self, letters: str, least: int, most: int | None = None) -> str:
        return "".join(self.dice.choices(letters, k=self.dice.randint(least, most or least)))

    def one(self, *choices: str) -> str:
        return self.dice.choice(choices)

    def word(self) -> str:
        return self.dice.choice(WORDS)

    def hex(self, length: int) -> str:
        return self.of(HEX, length)

    def b64(self, length: int) -> str:
        return base64.b64encode(self.dice.randbytes(length)).decode()

    def stamp(self) -> str:
        d = self.dice
        return self.one(
            f"2026-{d.randint(1, 12):02}-{d.randint(1, 28):02}T{d.randint(0, 23):02}:{d.randint(0, 59):02}:"
            f"{d.randint(0, 59):02}.{d.randint(0, 9999999):07}Z ",
            f"[{d.randint(0, 23):02}:{d.randint(0, 59):02}:{d.randint(0, 59):02}] ",
            "",
            "",
        )

    def level(self) -> str:
        name = self.one("app.db", "worker", "http.client", "deploy", "boot", "auth.session")
        return f"{self.one('DEBUG', 'INFO', 'WARNING', 'ERROR')} {name}: "

    # ---- what the vendors issue --------------------------------------------------------------------------------
    def vendor(self) -> tuple[str, str]:
        of, hex = self.of, self.hex
        made: dict[str, Callable[[], str]] = {
            "aws_id": lambda: self.one("AKIA", "ASIA") + of(UPPER + "234567", 16),
            "github": lambda: self.one("ghp_", "gho_", "ghu_", "ghs_", "ghr_") + of(ALNUM, 36),
            "github_fine": lambda: "github_pat_" + of(ALNUM, 22) + "_" + of(ALNUM, 59),
            "gitlab": lambda: self.one("glpat-", "gldt-", "glptt-", "glrt-") + of(WEB, 20),
            "slack": lambda: f"{self.one('xoxb', 'xoxp')}-{of(DIGITS, 12)}-{of(DIGITS, 12)}-{of(ALNUM, 24)}",
            "slack_app": lambda: f"xapp-1-{of(UPPER + DIGITS, 11)}-{of(DIGITS, 13)}-{hex(64)}",
            "slack_hook": lambda: (
                f"https://hooks.slack.com/services/T{of(UPPER + DIGITS, 9)}/B{of(UPPER + DIGITS, 10)}/{of(ALNUM, 24)}"
            ),
            "stripe": lambda: f"{self.one('sk', 'rk')}_{self.one('live', 'test')}_{of(ALNUM, 24, 99)}",
            "stripe_hook": lambda: "whsec_" + of(ALNUM, 32),
            "npm": lambda: "npm_" + of(ALNUM, 36),
            "pypi": lambda: "pypi-AgEIcHlwaS5vcmc" + of(WEB, 150),
            "sendgrid": lambda: f"SG.{of(WEB, 22)}.{of(WEB, 43)}",
            "openai": lambda: f"sk-{of(ALNUM, 20)}T3BlbkFJ{of(ALNUM, 20)}",
            "openai_project": lambda: f"sk-proj-{of(WEB, 74)}T3BlbkFJ{of(WEB, 74)}",
            "anthropic": lambda: f"sk-ant-api03-{of(WEB, 93)}AA",
            "huggingface": lambda: "hf_" + of(string.ascii_letters, 34),
            "google": lambda: "AIza" + of(WEB, 35),
            "google_oauth": lambda: "GOCSPX-" + of(WEB, 28),
            "google_access": lambda: "ya29." + of(WEB, 120),
            "google_refresh": lambda: "1//0" + of(WEB, 60),
            "twilio": lambda: "SK" + hex(32),
            "jwt": self.jwt,
            "digitalocean": lambda: "dop_v1_" + hex(64),
            "shopify": lambda: self.one("shpat_", "shpss_") + hex(32),
            "telegram": lambda: f"{of(DIGITS, 10)}:AA{of(WEB, 33)}",
            "databricks": lambda: "dapi" + hex(32),
            "vault": lambda: "hvs." + of(WEB, 95),
            "docker": lambda: "dckr_pat_" + of(WEB, 27),
            "mailgun": lambda: "key-" + hex(32),
            "grafana": lambda: f"glsa_{of(ALNUM, 32)}_{hex(8)}",
            "linear": lambda: "lin_api_" + of(ALNUM, 40),
            "atlassian": lambda: "ATATT3xFfGF0" + of(WEB, 170) + "=" + of(HEX.upper(), 8),
            "azure_ad": lambda: of(ALNUM, 3) + "8Q~" + of(ALNUM + "_-.~", 34),
            "newrelic": lambda: "NRAK-" + of(UPPER + DIGITS, 27),
            "postman": lambda: f"PMAK-{hex(24)}-{hex(34)}",
            "age": lambda: "AGE-SECRET-KEY-1" + of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
            "rubygems": lambda: "rubygems_" + hex(48),
            "sentry": lambda: "sntryu_" + hex(64),
            "square": lambda: "sq0csp-" + of(WEB, 43),
        }
        weights = [3 if name in CORE else 1 for name in made]
        name = self.dice.choices(list(made), weights)[0]
        return name, made[name]()

    def jwt(self) -> str:
        def part(value: object) -> str:
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

        head = {"alg": self.one("RS256", "HS256", "ES256"), "typ": "JWT"}
        body = {"sub": self.of(DIGITS, 8), "iat": 1700000000 + self.dice.randint(0, 10**7), "scope": self.word()}
        return f"{part(head)}.{part(body)}.{self.of(WEB, 43, 86)}"

    def password(self) -> str:
        d = self.dice
        made = [
            lambda: self.word().title() + self.of(DIGITS, 2, 4) + self.one("!", "#", "$", "*"),
            lambda: self.of(ALNUM, 12, 24),
            lambda: self.of(ALNUM + "!#%^*-_+=.", 14, 22),
            lambda: self.hex(32),
            lambda: self.b64(24),
            lambda: f"{self.word()}{self.of(DIGITS, 3)}{self.word()}",
            lambda: "-".join(d.choices(WORDS, k=4)),
            lambda: self.of(WEB, 30, 44),
        ]
        return d.choice(made)()

    def plain(self) -> str:
        """A password of letters and digits only, which needs quoting nowhere."""
        return self.one(self.of(ALNUM, 10, 20), f"{self.word()}{self.of(DIGITS, 3)}{self.word()}", self.hex(24))

    def any(self) -> str:
        return plant(*self.vendor())

    def secret(self) -> str:
        return plant("password", self.password())

    # ---- how it comes out --------------------------------------------------------------------------------------
    def leaked_token(self) -> str:
        token, at = self.any(), self.stamp()
        url = f"https://api.{self.word()}.example/v{self.dice.randint(1, 4)}/{self.word()}"
        name = f"{self.word().upper()}_{self.one('TOKEN', 'API_KEY', 'KEY', 'CREDENTIAL', 'AUTH')}"
        return at + self.dice.choice(
            (
                f"{name}={token}",
                f"export {name}='{token}'",
                f"+ curl -sS -H 'Authorization: Bearer {token}' {url}",
                f"> Authorization: token {token}",
                f"  {name.lower()}: {token}",
                f'{{"level":"debug","headers":{{"X-Auth-Token":"{token}","accept":"*/*"}},"ms":12}}',
                f"{self.level()}using credential {token} for {self.word()}",
                f"requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: {url}?access_token={token}",
                f"const {self.word()}Client = new Client('{token}');",
                f'    {self.word()} := NewClient("{token}", 30)',
                f"echo {token} | {self.word()} login --stdin",
                f"-{self.word()} = {token}",
                f'<add key="{self.word()}" value="{token}" />',
                f'"stdout":"fetching\\n{token}\\ndone\\n"',
                f"E       AssertionError: assert '{token}' == None",
                f"\x1b[32m{token}\x1b[0m ok",
                f"Set-Cookie: {self.word()}={token}; Path=/; HttpOnly",
                f"redirect_uri=https%3A%2F%2Fx.example%2Fcb%3Ftoken%3D{token}%26state%3D1",
                f"[{token}]",
                f"{self.word()} ({token})",
            )
        )

    def leaked_password(self) -> str:
        secret, at, word = self.secret(), self.stamp(), self.word()
        return at + self.dice.choice(
            (
                f"{word.upper()}_PASSWORD={secret}",
                f"      - POSTGRES_PASSWORD={secret}",
                f'db_password = "{secret}"',
                f"spring.datasource.password={secret}",
                f"{self.level()}connecting with Settings(host='db', user='{word}', password='{secret}', port=5432)",
                f"  password: {secret}",
                f"  client_secret: '{secret}'",
                f'"secretKey": "{secret}",',
                f'  "api_key" : "{secret}",',
                f":password => '{secret}',",
                f'    Password:  "{secret}",',
                f"define('DB_PASSWORD', '{secret}');",
                f"'password' => '{secret}',",
                f"<password>{secret}</password>",
                f"$env:{word.upper()}_SECRET = \"{secret}\"",
                f"PGPASSWORD='{secret}' psql -h db -U {word}",
                f"helm upgrade {word} ./chart --set auth.password={plant('password', self.plain())} --wait",
                f"+ {word} login --username ci --password {secret}",
                f"{self.word()}.auth.token={secret}",
                f"SECRET_KEY = '{secret}'",
                f"let api_key = \"{secret}\";",
                f"AWS_SECRET_ACCESS_KEY={plant('aws_secret', self.b64(30))}",
                f"aws_secret_access_key = {plant('aws_secret', self.b64(30))}",
                f'  "token": "{secret}",',
                f"  auth_token:   \"{secret}\"",
                f"{self.word()}_passwd={secret}",
                f'{{"msg":"login","body":"{{\\"user\\":\\"{word}\\",\\"password\\":\\"{secret}\\"}}"}}',
                f"Server=tcp:{word}.example,1433;User ID=sa;Password={plant('password', self.plain())};Encrypt=true;",
                f"DefaultEndpointsProtocol=https;AccountName={word};AccountKey={plant('azure', self.b64(64))};",
                f"Endpoint=sb://{word}.example/;SharedAccessKeyName=k;SharedAccessKey={plant('azure', self.b64(32))}",
                f"jdbc:mysql://db.example:3306/{word}?user=root&password={plant('password', self.plain())}&ssl=true",
                f"  private_token = {plant('password', self.of(WEB, 20))}",
                f"INFO generated admin password: {secret}",
                f"ENCRYPTION_KEY={plant('key', self.b64(32))}",
                f"X-Api-Key: {plant('key', self.of(ALNUM, 32))}",
                f"DATADOG_API_KEY={plant('key', self.hex(32))}",
                f"TWILIO_AUTH_TOKEN: {plant('key', self.hex(32))}",
                f"sessionToken='{plant('key', self.b64(120))}'",
            )
        )

    def leaked_url(self) -> str:
        scheme = self.one("postgres", "postgresql", "mysql", "mongodb+srv", "redis", "amqp", "https", "ftp", "smtp")
        secret = plant("url", self.one(self.plain(), quote(self.password(), safe="")))
        url = f"{scheme}://{self.one(self.word(), '', 'svc-' + self.word()) if scheme == 'redis' else self.word()}:{secret}@{self.word()}.example:{self.dice.randint(1000, 9999)}/{self.word()}"
        return self.stamp() + self.dice.choice(
            (
                f"DATABASE_URL={url}",
                f"origin\t{url} (fetch)",
                f'sqlalchemy.url = {url}',
                f"{self.level()}could not connect to {url}: timeout",
                f'create_engine("{url}")',
                f"  uri: '{url}'",
                f"fatal: unable to access '{url}/': The requested URL returned error: 403",
                f"pip install --index-url {url}/simple/ {self.word()}",
                f'{{"broker":"{url}"}}',
            )
        )

    def leaked_basic(self) -> str:
        user, password = self.word(), self.password()
        encoded = plant("basic", base64.b64encode(f"{user}:{password}".encode()).decode())
        shown = plant("password", self.plain())
        return self.stamp() + self.dice.choice(
            (
                f"> Authorization: Basic {encoded}",
                f'-H "Authorization: Basic {encoded}"',
                f"'Authorization': 'Basic {encoded}'",
                f'"auth": "{encoded}"',
                f"//registry.example/:_auth={encoded}",
                f"//registry.example/:_authToken={plant('npm', self.one('npm_' + self.of(ALNUM, 36), str(self.uuid())))}",
                f"machine {self.word()}.example login {user} password {shown}",
                f"machine {self.word()}.example\n  login {user}\n  password {shown}",
                f"curl -u {user}:{shown} https://{self.word()}.example/",
                f"curl --user '{user}:{shown}' https://{self.word()}.example/",
                f"[pypi]\nusername = __token__\npassword = {plant('pypi', 'pypi-AgEIcHlwaS5vcmc' + self.of(WEB, 130))}",
                f"mysql -u root -p{shown} {self.word()}",
                f"docker login -u {user} -p {shown} registry.example",
                f"sshpass -p '{shown}' ssh {user}@host",
            )
        )

    def leaked_key(self) -> str:
        kind = self.one("RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK")
        body = self.b64(self.dice.randint(90, 1200))
        wide = 70 if "OPENSSH" in kind else 64
        lines = [body[at : at + wide] for at in range(0, len(body), wide)]
        whole = [f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"]
        plain = "\n".join(whole)
        return self.dice.choice(
            (
                plant("private_key", plain),
                "private_key: |\n  " + plant("private_key", "\n  ".join(whole)),
                '"private_key": "' + plant("private_key", "\\n".join(whole) + "\\n") + '"',
                plant("private_key", "\n".join(f"+{line}" for line in whole)[1:]),
                "KEY=\"" + plant("private_key", "\\n".join(whole)) + '"',
            )
        )

    def uuid(self) -> uuid.UUID:
        return uuid.UUID(int=self.dice.getrandbits(128), version=4)

    # ---- what only looks so ------------------------------------------------------------------------------------
    def noise(self) -> str:
        d, word = self.dice, self.word
        raw = d.randbytes(64)
        hex1, hex256, hex512 = (hashlib.new(a, raw).hexdigest() for a in ("sha1", "sha256", "sha512"))
        sri = "sha512-" + base64.b64encode(hashlib.sha512(raw).digest()).decode()
        return d.choice(
            (
                f"{hex1} {word()}: {word()} the {word()} ({d.randint(1, 99)})",
                f"commit {hex1}\nAuthor: {word()} <{word()}@example.org>\nDate:   Mon Mar 2 2026\n",
                f"index {hex1[:9]}..{hex256[:9]} 100644",
                f"sha256:{hex256}",
                f"{hex256}  {word()}-{d.randint(1, 9)}.0.tar.gz",
                f"    --hash=sha256:{hex256} \\",
                f"{hex512}  {word()}.iso",
                f'      "integrity": "{sri}",',
                f'      "resolved": "https://registry.npmjs.org/{word()}/-/{word()}-{d.randint(1, 9)}.2.0.tgz#{hex1}",',
                f'checksum = "{hex256}"',
                f"github.com/{word()}/{word()} v1.{d.randint(0, 40)}.0 h1:{self.b64(32)}",
                f"request_id={self.uuid()} status=200 path=/{word()}",
                f"{self.uuid()} {self.level()}{word()} finished in {d.random():.3f}s",
                f"ETag: W/\"{hex1}\"",
                f"trace_id={hex256[:32]} span_id={hex256[:16]}",
                f"image: registry.example/{word()}@sha256:{hex256}",
                f"background:url(data:image/png;base64,{self.b64(d.randint(60, 400))})",
                f"<img src=\"data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7\">",
                f"!function(e,t){{\"object\"==typeof exports?t(exports):t(e.{word()}={{}})}}(this,function(e){{var r=e.token,"
                f"n=r.password||\"\",i=t.secret?a(n):o(r);return i.key=function(e){{return s[e]}},l(\"{word()}\",u)}});",
                f"def login(user: str, password: str, token: str | None = None) -> {word().title()}:",
                "    password = getpass.getpass('Password: ')",
                f"    token = os.environ[\"{word().upper()}_TOKEN\"]",
                f"    secret = config.get('{word()}', None)",
                f"    token = next(self.{word()}_tokens)",
                "  password: ${{ secrets.DEPLOY_PASSWORD }}",
                "  token: {{ .Values.auth.token }}",
                "PASSWORD=$DB_PASSWORD",
                "API_KEY=${API_KEY:-}",
                "const token = await getToken(request);",
                f"if (password !== confirmPassword) {{ throw new Error('{word()}'); }}",
                f"the password must have {d.randint(8, 20)} characters; tokens: {d.randint(100, 9999)}",
                f"max_tokens={d.randint(256, 8192)} prompt_tokens: {d.randint(256, 8192)}",
                f"collecting {word()}=={d.randint(0, 9)}.{d.randint(0, 30)}.{d.randint(0, 9)}",
                f"tests/test_{word()}.py::test_{word()}_password PASSED [ {d.randint(1, 99)}%]",
                f"tests/test_{word()}.py:{d.randint(1, 900)}: AssertionError: token == expected_token",
                f"at Object.{word()} (/srv/app/node_modules/{word()}/dist/index.js:{d.randint(1, 99)}:{d.randint(1, 9999)})",
                f"-----BEGIN CERTIFICATE-----\n{self.b64(48)}\n{self.b64(48)}\n-----END CERTIFICATE-----",
                f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{self.b64(33)} {word()}@host",
                f"SHA256:{self.b64(32).rstrip('=')} {word()}@host (ED25519)",
                f"https://{word()}.example:8443/{word()}?page={d.randint(1, 99)}&sort=asc#{word()}",
                f"git@github.com:{word()}/{word()}.git",
                f"user={word()} uid={d.randint(1000, 9999)} home=/home/{word()}",
                f".sk-{word()}-cube {{ margin: {d.randint(0, 20)}px }}",
                f"class {word().title()}TokenSerializer(serializers.ModelSerializer):",
                f"  \"token_type\": \"bearer\", \"expires_in\": {d.randint(300, 9999)},",
                f"    <input type=\"password\" name=\"password\" placeholder=\"{word().title()}\">",
                f"password_hash_rounds = {d.randint(4, 20)}",
                f"author = {word()} <{word()}@{word()}.example>",
                f"{d.random():.9f} {d.random():.9f} {d.random():.9f} {d.getrandbits(60)}",
                f"Downloading {word()}-{d.randint(1, 20)}.{d.randint(0, 9)}-py3-none-any.whl ({d.randint(1, 900)} kB)",
                f"E   {word()}.errors.InvalidToken: token has expired",
                f"key: {word()}  value: {word()}  secret: false  password: null",
                f"0{self.hex(6)}: {self.hex(4)} {self.hex(4)} {self.hex(4)} {self.hex(4)}  ................",
            )
        )


CORE = (
    "aws_id github gitlab slack stripe npm pypi sendgrid openai openai_project anthropic huggingface google "
    "google_oauth twilio jwt"
).split()
SEED = 20260301


def build(seed: int = SEED, size: int = 1_000_000) -> Corpus:
    """About `size` bytes, one secret to about 1,200 bytes."""
    scenes = Scenes(seed)
    makers = (
        (scenes.leaked_token, 10),
        (scenes.leaked_password, 8),
        (scenes.leaked_url, 3),
        (scenes.leaked_basic, 3),
        (scenes.leaked_key, 1),
    )
    parts: list[str] = []
    total = 0
    while total < size:
        for _ in range(scenes.dice.randint(4, 14)):
            parts.append(scenes.noise())
            total += len(parts[-1]) + 1
        parts.append(scenes.dice.choices([maker for maker, _ in makers], [weight for _, weight in makers])[0]())
        total += len(parts[-1]) + 1
    return Corpus.of("\n".join(parts) + "\n")
