"""The first corpus: what the shapes were tuned on. Files and outputs as whole documents, each with fake secrets and
with plenty that is none."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import zlib
from urllib.parse import quote

from tests.data.secrets.corpus import Corpus, plant

HEX, ALNUM = "0123456789abcdef", string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
NOUNS = (
    "billing orders search mailer catalog gateway ledger profile inbox report shipping payments audit media index "
    "scheduler session invoice webhook export"
).split()
SEED = 7


class Documents:
    """One method per kind of document; each returns marked text."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def text(self, letters: str, length: int) -> str:
        return "".join(self.dice.choice(letters) for _ in range(length))

    def noun(self) -> str:
        return self.dice.choice(NOUNS)

    def b64(self, length: int) -> str:
        return base64.b64encode(self.dice.randbytes(length)).decode()

    def digest(self, name: str = "sha256") -> str:
        return hashlib.new(name, self.dice.randbytes(16)).hexdigest()

    # ---- secrets -----------------------------------------------------------------------------------------------
    def password(self) -> str:
        d = self.dice
        return d.choice(
            (
                self.text(ALNUM, d.randint(8, 32)),
                self.text(ALNUM + "!@#%^*_-+=.", d.randint(10, 28)),
                f"{self.noun().title()}{d.randint(10, 2030)}{d.choice('!?#')}",
                f"{self.noun()}{d.randint(100, 999)}{self.noun()}",
                "-".join(self.noun() for _ in range(5)),
                self.text(HEX, d.choice((32, 40, 64))),
                self.b64(d.choice((18, 24, 32, 48))),
                self.text(URLSAFE, 43),
            )
        )

    def secret(self) -> str:
        value = self.password()
        while not any(letter.isalpha() for letter in value) or (value.isalpha() and len(value) < 12):
            value = self.password()
        return plant("password", value)

    def token(self) -> str:
        t = self.text
        upper, digits = string.ascii_uppercase, string.digits
        made = {
            "aws_id": "AKIA" + t(upper + digits, 16),
            "aws_temporary": "ASIA" + t(upper + digits, 16),
            "github": f"gh{self.dice.choice('pousr')}_" + t(ALNUM, 36),
            "github_fine": "github_pat_" + t(ALNUM, 22) + "_" + t(ALNUM, 59),
            "gitlab": "glpat-" + t(URLSAFE, 20),
            "gitlab_long": "glpat-" + t(URLSAFE, 27) + "." + t("0123456789abcdefghijklmnopqrstuvwxyz", 9),
            "slack_bot": f"xoxb-{t(digits, 11)}-{t(digits, 12)}-{t(ALNUM, 24)}",
            "slack_user": f"xoxp-{t(digits, 11)}-{t(digits, 11)}-{t(digits, 12)}-{t(HEX, 32)}",
            "stripe": f"sk_live_{t(ALNUM, 24)}",
            "stripe_restricted": f"rk_live_{t(ALNUM, 99)}",
            "npm": "npm_" + t(ALNUM, 36),
            "pypi": "pypi-AgEIcHlwaS5vcmcCJ" + t(URLSAFE, 140),
            "sendgrid": f"SG.{t(URLSAFE, 22)}.{t(URLSAFE, 43)}",
            "openai": f"sk-{t(ALNUM, 48)}",
            "openai_project": f"sk-proj-{t(URLSAFE, 120)}",
            "openai_service": f"sk-svcacct-{t(URLSAFE, 120)}",
            "anthropic": f"sk-ant-api03-{t(URLSAFE, 93)}AA",
            "anthropic_oauth": f"sk-ant-oat01-{t(URLSAFE, 93)}AA",
            "huggingface": "hf_" + t(string.ascii_letters, 34),
            "google": "AIza" + t(URLSAFE, 35),
            "google_secret": "GOCSPX-" + t(URLSAFE, 28),
            "google_access": "ya29." + t(URLSAFE, 150),
            "twilio": "SK" + t(HEX, 32),
            "digitalocean": "dop_v1_" + t(HEX, 64),
            "shopify": "shpat_" + t(HEX, 32),
            "telegram": f"{t(digits[1:], 9)}:AA{t(URLSAFE, 33)}",
            "databricks": "dapi" + t(HEX, 32),
            "vault": "hvs." + t(URLSAFE, 90),
            "jwt": ".".join(
                [
                    base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
                    for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": self.noun(), "exp": 1900000000})
                ]
                + [t(URLSAFE, 43)]
            ),
        }
        kind = self.dice.choice(list(made))
        return plant(kind, made[kind])

    def armour(self, indent: str = "") -> str:
        kind = self.dice.choice(("RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""))
        body = self.b64(self.dice.randint(100, 1600))
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        head, tail = f"-----BEGIN {kind}PRIVATE KEY-----", f"-----END {kind}PRIVATE KEY-----"
        return plant("private_key", f"\n{indent}".join([head, *lines, tail]))

    # ---- documents with secrets --------------------------------------------------------------------------------
    def environment(self) -> str:
        names = ("DB_PASSWORD", "SECRET_KEY", "ADMIN_PASS", "JWT_SECRET", "SESSION_SECRET", "SMTP_PASSWORD", "APP_KEY")
        lines = [f"{name}={self.secret()}" for name in self.dice.sample(names, 3)]
        lines += [f"{self.noun().upper()}_TOKEN={self.token()}" for _ in range(3)]
        lines += [
            f"PATH=/usr/local/bin:/usr/bin:/home/{self.noun()}/.local/bin",
            f"PWD=/srv/{self.noun()}2/releases/20260301",
            f"GIT_COMMIT={self.digest('sha1')}",
            f"BUILD_ID={self.dice.randint(1000, 99999)}",
            "SSH_AUTH_SOCK=/tmp/ssh-x1y2/agent.93",
            f"AWS_ACCESS_KEY_ID={plant('aws_id', 'AKIA' + self.text(string.ascii_uppercase + string.digits, 16))}",
            f"AWS_SECRET_ACCESS_KEY={plant('aws_secret', self.b64(30))}",
            f"AWS_SESSION_TOKEN={plant('aws_session', self.b64(300))}",
            f"DATABASE_URL=postgres://{self.noun()}:{plant('url', self.text(ALNUM, 18))}@db.internal:5432/{self.noun()}",
        ]
        self.dice.shuffle(lines)
        prefix = self.dice.choice(("", "export ", "      - ", "declare -x ", "+ export "))
        return "\n".join(prefix + line for line in lines)

    def settings(self) -> str:
        form = self.dice.choice(("json", "yaml", "toml", "ini", "python", "js", "properties"))
        keys = ("password", "client_secret", "api_key", "auth_token", "secret_key", "access_token", "db_password", "token")
        pairs = [(key, self.secret()) for key in self.dice.sample(keys, 3)] + [(f"{self.noun()}_url", self.url())]
        pairs += [("host", f"{self.noun()}.internal"), ("port", "5432"), ("user", self.noun()), ("timeout", "30s")]
        self.dice.shuffle(pairs)
        match form:
            case "json":
                return "{\n" + ",\n".join(f'  "{key}": "{value}"' for key, value in pairs) + "\n}"
            case "yaml":
                return f"{self.noun()}:\n" + "\n".join(f"  {key}: {value}" for key, value in pairs)
            case "toml":
                return f"[{self.noun()}]\n" + "\n".join(f'{key} = "{value}"' for key, value in pairs)
            case "ini":
                return f"[{self.noun()}]\n" + "\n".join(f"{key} = {value}" for key, value in pairs)
            case "python":
                return "\n".join(f"{key.upper()} = '{value}'" for key, value in pairs)
            case "js":
                return "module.exports = {\n" + "\n".join(f"  {key}: '{value}'," for key, value in pairs) + "\n};"
            case _:
                return "\n".join(f"{self.noun()}.{key.replace('_', '.')}={value}" for key, value in pairs)

    def url(self) -> str:
        scheme = self.dice.choice(("postgresql", "mysql+pymysql", "mongodb", "redis", "amqps", "https", "git+https"))
        password = self.dice.choice((self.text(ALNUM, 14), quote(self.text(ALNUM + "!@#$", 16), safe="")))
        return f"{scheme}://{self.noun()}:{plant('url', password)}@{self.noun()}.internal/{self.noun()}"

    def trace(self) -> str:
        return "\n".join(
            (
                "Traceback (most recent call last):",
                f'  File "/srv/app/{self.noun()}.py", line {self.dice.randint(1, 900)}, in connect',
                f"    return Client(url, token=self.token, password=password)",
                f"           {'^' * 40}",
                f"{self.noun()}.errors.AuthError: 401 for url https://api.{self.noun()}.example/v1/items?token={self.token()}&page=2",
                "During handling of the above exception, another exception occurred:",
                f"pydantic.ValidationError: input_value={{'user': '{self.noun()}', 'password': '{self.secret()}'}}, input_type=dict",
                f"sqlalchemy.exc.OperationalError: (Background on this error at: {self.url()})",
            )
        )

    def requests(self) -> str:
        user, password = self.noun(), self.text(ALNUM, 14)
        basic = base64.b64encode(f"{user}:{password}".encode()).decode()
        return "\n".join(
            (
                f"> GET /v1/{self.noun()} HTTP/1.1",
                f"> Host: {self.noun()}.example",
                f"> Authorization: Basic {plant('basic', basic)}",
                f"> User-Agent: curl/8.5.0",
                "< HTTP/1.1 200 OK",
                f"< ETag: \"{self.digest('md5')}\"",
                f"< X-Request-Id: {self.digest('md5')}",
                f"< content-length: {self.dice.randint(10, 99999)}",
                f"DEBUG send: b'GET / HTTP/1.1\\r\\nAuthorization: Bearer {plant('bearer', self.text(URLSAFE, 40))}\\r\\n\\r\\n'",
                f"curl -H \"X-API-Key: {plant('key', self.text(ALNUM, 32))}\" -u {user}:{plant('password', password)} https://x.example",
                f"{{\"authorization\":\"token {self.token()}\",\"path\":\"/{self.noun()}\"}}",
            )
        )

    def files(self) -> str:
        registry = f"registry.{self.noun()}.example"
        auth = base64.b64encode(f"{self.noun()}:{self.text(ALNUM, 16)}".encode()).decode()
        return "\n".join(
            (
                f"//{registry}/:_authToken={self.token()}",
                f"//{registry}/:_password={plant('password', self.b64(18))}",
                f"machine {registry} login {self.noun()} password {plant('password', self.text(ALNUM, 12))}",
                f"[pypi]\nusername = __token__\npassword = {self.token()}",
                f'{{"auths": {{"{registry}": {{"auth": "{plant("basic", auth)}"}}}}}}',
                f"<server><id>{self.noun()}</id><password>{self.secret()}</password></server>",
                f"https://{self.noun()}:{plant('url', self.text(ALNUM, 40))}@github.com",
                f"mysqldump -u root -p{plant('password', self.text(ALNUM, 12))} {self.noun()}",
                f"{self.noun()}ctl --token {self.token()} --api-key={plant('key', self.text(ALNUM, 40))} apply",
                f"Data Source={self.noun()};User Id=sa;Password={plant('password', self.text(ALNUM, 14))};",
                f"AccountName={self.noun()};AccountKey={plant('azure', self.b64(64))};EndpointSuffix=core.example",
                f"key: |\n  {self.armour('  ')}\nother: 1",
                self.armour(),
                json.dumps({"type": "service_account"})[:-1]
                + f', "private_key_id": "{self.digest("sha1")}", "private_key": "{self.json_armour()}"}}',
            )
        )

    def json_armour(self) -> str:
        return self.armour().replace("\n", "\\n")

    # ---- documents without -------------------------------------------------------------------------------------
    def lock(self) -> str:
        lines = []
        for _ in range(12):
            name, version = self.noun(), f"{self.dice.randint(0, 9)}.{self.dice.randint(0, 30)}.{self.dice.randint(0, 9)}"
            lines.append(
                self.dice.choice(
                    (
                        f'    "node_modules/{name}": {{\n      "version": "{version}",\n      "integrity": "sha512-{self.b64(64)}"',
                        f'{{file = "{name}-{version}.whl", hash = "sha256:{self.digest()}"}},',
                        f'[[package]]\nname = "{name}"\nversion = "{version}"\nchecksum = "{self.digest()}"',
                        f"github.com/{name}/{name} v{version}/go.mod h1:{self.b64(32)}",
                        f'{name}@^{version}:\n  version "{version}"\n  resolved "https://r.example/{name}.tgz#{self.digest("sha1")}"',
                        f"{name}=={version} --hash=sha256:{self.digest()}",
                    )
                )
            )
        return "\n".join(lines)

    def log(self) -> str:
        lines = []
        for _ in range(20):
            stamp = f"2026-03-{self.dice.randint(1, 28):02} 1{self.dice.randint(0, 9)}:{self.dice.randint(10, 59)}:07,123"
            raw = self.dice.getrandbits(128)
            uuid = f"{raw:032x}"
            uuid = f"{uuid[:8]}-{uuid[8:12]}-{uuid[12:16]}-{uuid[16:20]}-{uuid[20:]}"
            lines.append(
                self.dice.choice(
                    (
                        f"{stamp} INFO {self.noun()} request {uuid} took {self.dice.random():.4f}s",
                        f"{self.digest('sha1')} {self.noun()}: bump {self.noun()} to 1.2.3 (#{self.dice.randint(1, 999)})",
                        f"{stamp} DEBUG token refreshed, {self.dice.randint(1, 500)} tokens left, key={self.noun()}",
                        f"sha512: {self.digest('sha512')}",
                        f"{stamp} WARN password reset requested for user_id={self.dice.randint(1, 9999)}",
                        f"Successfully built {self.digest('sha1')[:12]} digest: sha256:{self.digest()} size: 1234",
                        f"{stamp} cache key: {self.noun()}-{self.digest()}",
                        f"PASS src/{self.noun()}/token2.test.ts (5.2 s)",
                        f"tests/test_auth.py::test_password_{self.noun()}1 PASSED",
                        f"{stamp} https://{self.noun()}.example:8443/{self.noun()}@2x.png 200",
                        f"primary_key={uuid} partition_key={self.digest('md5')} etag={self.digest('md5')}",
                        f"MD5 ({self.noun()}.tar) = {self.digest('md5')}",
                    )
                )
            )
        return "\n".join(lines)

    def code(self) -> str:
        n = self.noun
        return "\n".join(
            self.dice.sample(
                (
                    f"def {n()}(password: str, token: Optional[str] = None, secret=DEFAULT_SECRET) -> bool:",
                    f"    token = self.session.get_token2(user.id)",
                    f"    password = settings.DATABASES['default']['PASSWORD']",
                    f"    api_key = os.getenv('API_KEY_V2', '')",
                    f"    if not secrets.compare_digest(token, expected_token2):",
                    f"const secret = process.env.SECRET2 ?? config.secret1;",
                    f"  private readonly tokenService2: TokenService2,",
                    f"type Auth struct {{ Password string `json:\"password\"`; Token *oauth2.Token }}",
                    f"let token = lexer.next_token2()?;",
                    f"password_field = forms.CharField(widget=PasswordInput2)",
                    f"secret: Uint8Array, key: CryptoKey, token: Base64Url",
                    f"    'password': 'The password must have 8 characters.',",
                    f"auth = HTTPBasicAuth(user, password1)",
                    f"  token: ${{{{ secrets.GITHUB_TOKEN }}}}",
                    f"  secretName: {n()}-tls-2024",
                    f"  secretKeyRef: {{name: {n()}-secret1, key: password1}}",
                    f"password: <your password 1>",
                    f"postgres://user:password@localhost:5432/{n()}",
                    f"redis://:${{REDIS_PASSWORD1}}@cache:6379/0",
                    f"git clone https://git@github.com/{n()}/{n()}.git && ssh -p 2222 deploy@host",
                    f"docker run -p 8080:80 -u 1000:1000 {n()}",
                    f"mkdir -p build2/{n()} && cp -pr a1b2c3 dest",
                    f"token = \"\"  # set in {n()}",
                    f"this.token=e.token2,this.password=t.password1,n.key=r(\"k1\")",
                    f"assert token.kind == Token.NAME2 and key not in seen1",
                    f"hash_password = bcrypt.gensalt12, pwd_context = CryptContext2()",
                ),
                10,
            )
        )

    def blob(self) -> str:
        raw = zlib.compress(self.dice.randbytes(self.dice.randint(200, 2000)))
        return f"<image href=\"data:image/png;base64,iVBORw0KGgo{base64.b64encode(raw).decode()}\"/>"

    def minified(self) -> str:
        parts = [
            f"function {self.text(string.ascii_lowercase, 1)}(e,t){{return e.{self.noun()}?t.key:r[{self.dice.randint(0, 999)}]}}"
            f"var {self.text(string.ascii_lowercase, 2)}={{token:e.token,secret:n(t),password:void 0,key:\"{self.noun()}\"}};"
            for _ in range(15)
        ]
        return "".join(parts)


def build(seed: int = SEED, size: int = 1_000_000) -> Corpus:
    """About `size` bytes."""
    documents = Documents(seed)
    leaky = (documents.environment, documents.settings, documents.trace, documents.requests, documents.files)
    clean = (documents.lock, documents.log, documents.code, documents.blob, documents.minified)
    parts: list[str] = []
    total = 0
    while total < size:
        parts += [documents.dice.choice(clean)() for _ in range(5)]
        parts.append(documents.dice.choice(leaky)())
        total += sum(map(len, parts[-6:]))
    return Corpus.of("\n".join(parts) + "\n")
