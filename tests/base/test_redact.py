"""What never reaches the disk, and what must reach it unharmed.

Every secret here is invented, and written in two halves so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenon.base import redact as module
from tenon.base import secret, shapes
from tenon.base.redact import redact, redact_value

R40 = "q7Zt" + "9LmX2vKd8RwYb3NcF6hJs1PgTa5UeQ4iWoBx"
R24 = "Vx8rT2" + "mQ9zLk4WpN7cYb3HdS"
HEX32 = "3f9a1c" + "07be52d84e6a90c1f7d3b58e24"
HEX64 = HEX32 + "a4c81e6b" + "09d2f7e35b1c64a8f0d9e27b"
PASSWORD = "hunter2" + "pass"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0." + "dBjftJeZ4CVPmB92K27uhbUJU1p1r_wW1gFWFOEjXk"
BODY = "MIIEvQIBADANBgkq" + "hkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ7f"
BEGIN = "-----BEGIN " + "PRIVATE KEY-----"
CLOSE = "-----END " + "PRIVATE KEY-----"

# Text, the secret in it, the kind it is called.
SHAPES = [
    ("sk-ant-" + "api03-" + R40 + "-AA", R40, "anthropic"),
    ("sk-" + R40 + "8Kd2", R40, "openai"),
    ("sk-proj-" + R40 + "_" + R24, R24, "openai"),
    ("sk-or-v1-" + HEX64, HEX64, "openrouter"),
    ("the key AKIA" + "Q3EXWZ7RT5YUBN2K", "Q3EXWZ7RT5YUBN2K", "aws"),
    ("AKIA" + "Q3EXWZ7RT5YUBN2K\n" + R40, R40, "aws"),
    ("aws_secret_access_key = " + R40, R40, "secret"),
    ("ghp_" + R40[:36], R40[:36], "github"),
    ("gho_" + R40[:36], R40[:36], "github"),
    ("ghu_" + R40[:36], R40[:36], "github"),
    ("ghs_" + R40[:36], R40[:36], "github"),
    ("ghr_" + R40[:36], R40[:36], "github"),
    ("github_pat_" + R40[:22] + "_" + R40, R40, "github"),
    ("glpat-" + R24[:20], R24[:20], "gitlab"),
    ("xoxb-" + "123456789012-" + R24, R24, "slack"),
    ("https://hooks.slack.com/services/T0" + "AB12CD3/B0EF45GH6/" + R24, R24, "slack"),
    ("AIza" + R40[:35], R40[:35], "google"),
    ("sk_live_" + R24, R24, "stripe"),
    ("rk_live_" + R24, R24, "stripe"),
    ("SK" + HEX32, HEX32, "twilio"),
    ("AC" + HEX32, HEX32, "twilio"),
    ("TWILIO_AUTH_TOKEN=" + HEX32, HEX32, "token"),
    ("SG." + R24[:22] + "." + R40, R40, "sendgrid"),
    ("npm_" + R40[:36], R40[:36], "npm"),
    ("pypi-" + "AgEIcHlwaS5vcmc" + R40, R40, "pypi"),
    ("hf_" + "kQzWvXbNmLpRtYsDfGhJcKvBnMqWeRtYuI", "kQzWvXbNmLpRtYs", "hugging-face"),
    ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + R40 + R40 + "==;EndpointSuffix=x", R40, "key"),
    ("dop_v1_" + HEX64, HEX64, "digitalocean"),
    ("bot 123456789:AA" + R40[:33], R40[:33], "telegram"),
    ("MTk4NjIy" + "NDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "ZnCjm1XVW7vRze4b7Cq4se7kKWs", "discord"),
    ("key-" + HEX32, HEX32, "mailgun"),
    ("dapi" + HEX32, HEX32, "databricks"),
    ("AGE-SECRET-KEY-1" + R40.upper() + "QPZRY9X8GF2TVDW0S", R40.upper(), "age"),
    (JWT, JWT, "jwt"),
    ("got " + JWT + ".", JWT, "jwt"),
    (f"{BEGIN}\n{BODY}\n{BODY}\nab12==\n{CLOSE}", BODY, "private-key"),
    (f'"private_key": "{BEGIN}\\n{BODY}\\n{BODY}\\n{CLOSE}\\n"', BODY, "private-key"),
    (f"{BEGIN}\n{BODY}\n{BODY[:20]}", BODY[:20], "private-key"),
    (f"     1→{BEGIN}\n     2→{BODY}\n     3→{BODY}\n     4→{CLOSE}", BODY, "private-key"),
    (f"+{BEGIN}\n+{BODY}\n+{CLOSE}", BODY, "private-key"),
    ("-----BEGIN OPENSSH " + f"PRIVATE KEY-----\n{BODY}\n-----END OPENSSH PRIVATE KEY-----", BODY, "private-key"),
    ("-----BEGIN RSA " + f"PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{HEX32}\n\n{BODY}\n-----END RSA PRIVATE KEY-----", BODY, "private-key"),
    ("-----BEGIN PGP " + f"PRIVATE KEY BLOCK-----\nVersion: X 1\n\n{BODY}\n=aB3x\n-----END PGP PRIVATE KEY BLOCK-----", BODY, "private-key"),
    (f"{BEGIN}\nan invented body, not-base64 {PASSWORD}\n{CLOSE}", PASSWORD, "private-key"),
    ("https://ann:" + PASSWORD + "@example.org/x", PASSWORD, "url-password"),
    ("redis://:" + PASSWORD + "@cache:6379/0", PASSWORD, "url-password"),
    ("postgres://app:p%40" + PASSWORD + "@db.local:5432/app?sslmode=on", PASSWORD, "url-password"),
    ("mongodb+srv://app:" + "s3cr@t9x@cluster0.example.net", "s3cr@t9x", "url-password"),
    ("Authorization: Bearer " + R40, R40, "authorization"),
    ("authorization: Basic " + "dXNlcjpwYXNz", "dXNlcjpwYXNz", "authorization"),
    ("-H 'Authorization: token " + R24 + "'", R24, "authorization"),
    ('{"Authorization": "Bearer ' + R24 + '"}', R24, "authorization"),
    ("sent with bearer " + R40, R40, "authorization"),
    ("X-Api-Key: " + R24, R24, "key"),
    ("PRIVATE-TOKEN: " + R24, R24, "token"),
    ("Cookie: sid=" + R24 + "; theme=dark", R24, "cookie"),
    ("Set-Cookie: sid=" + R24 + "; Path=/; HttpOnly", R24, "cookie"),
    ("export DB_PASSWORD=opensesame", "opensesame", "password"),
    ("export PLAIN_NAME=" + R40, R40, "value"),
    ("API_KEY=" + R24, R24, "key"),
    ("password=opensesame", "opensesame", "password"),
    ("DB_PASSWORD=Tr0ub4dor(3)&x", "Tr0ub4dor(3)&x", "password"),
    ("DB_PASSWORD='Pa$Word" + "91!'", "Pa$Word91!", "password"),
    ("PGPASSWORD=opensesame psql -h db", "opensesame", "password"),
    ("MYSQL_PWD: " + PASSWORD, PASSWORD, "password"),
    ("client_secret: " + R24, R24, "secret"),
    ('"clientSecret": "' + R24 + '"', R24, "secret"),
    ('{"password": "opensesame", "n": 1}', "opensesame", "password"),
    ('{\\"api_key\\": \\"' + R24 + '\\", \\"n\\": 1}', R24, "key"),
    ('const apiKey: string = "' + R24 + '";', R24, "key"),
    ('os.environ["API_TOKEN"] = "' + R24 + '"', R24, "token"),
    ('setenv("API_TOKEN", "' + R24 + '")', R24, "token"),
    ("password = " + PASSWORD, PASSWORD, "password"),
    ('login(user="ann", password="' + PASSWORD + '")', PASSWORD, "password"),
    ("deploy --password opensesame --yes", "opensesame", "password"),
    ("deploy --api-key=" + R24, R24, "key"),
    ("mysql -u root -p" + PASSWORD + " app", PASSWORD, "password"),
    ("mysqldump --password=opensesame app", "opensesame", "password"),
    ("curl -u ann:" + PASSWORD + " https://example.org", PASSWORD, "password"),
    ("my password is " + PASSWORD, PASSWORD, "password"),
    ("My password is " + PASSWORD + ", keep it.", PASSWORD, "password"),
    ("the password: hunter" + "22", "hunter22", "password"),
    ("mein Passwort ist " + PASSWORD, PASSWORD, "password"),
    ("please set the API key to " + R24, R24, "key"),
    ("API key: " + R24, R24, "key"),
    ("passphrase = 'correct horse battery staple'", "correct horse battery staple", "password"),
    ("machine example.org login ann password opensesame", "opensesame", "password"),
    ("machine example.org\n  login ann\n  password opensesame", "opensesame", "password"),
    ("Server=db;Database=app;User Id=ann;Password=opensesame;Encrypt=yes", "opensesame", "password"),
    ("https://example.org/x?user=ann&access_token=" + R24 + "&page=2", R24, "token"),
    ("<password>opensesame</password>".replace("opensesame", PASSWORD), PASSWORD, "password"),
    ("- name: DB_PASSWORD\n  value: " + PASSWORD, PASSWORD, "password"),
    ('{"name": "DB_PASSWORD", "value": "opensesame"}', "opensesame", "password"),
    ("CREATE USER ann IDENTIFIED BY 'opensesame'", "opensesame", "password"),
    ("//registry.example.org/:_authToken=" + R24, R24, "token"),
    ("api_key = zhipu" + HEX32 + "." + R24, R24, "key"),
    ("sk-ant-" + R24 + "." + R24[::-1], R24[::-1], "anthropic"),
    ("export API_TOKEN='Kp9#mZ2" + "$vL!q8'", "Kp9#mZ2$vL!q8", "token"),
    ('DB_PASSWORD="open sesame now"', "open sesame now", "password"),
    ("kubectl create secret generic x --from-literal=password=opensesame", "opensesame", "password"),
    ("psql 'host=db user=app password=opensesame sslmode=on'", "opensesame", "password"),
    ("DATABASE_PASSWORD=12345678", "12345678", "password"),
]  # fmt: skip

UNTOUCHED = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "fixed in 9fceb02",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "id 123e4567-e89b-12d3-a456-426614174000",
    'DATA = "aGVsbG8gd29ybGQ="',
    'PNG = b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"',
    "see /home/ann/src/app/tokens/reader.py and C:\\Users\\Ann\\token.txt",
    "token = get_token()",
    "token = self._tokens2.next2()",
    "token = tokens[i + 1]",
    "api_key = settings.api_key",
    "key2 = keys.primary2.api_key2",
    "password: str",
    "password: Optional[str] = None",
    "def reset_password(self, password):",
    "login(user=user, password=password, token=token)",
    "if token is None:",
    "if token == 'keyword.operator':",
    "tokens: 1234",
    "max_tokens=64000",
    '{"max_tokens": 64000, "input_tokens": 12}',
    'os.environ["API_KEY"]',
    'api_key=os.environ["API_KEY"]',
    "API_KEY = os.getenv('API_KEY')",
    "API_KEY=${API_KEY}",
    "export API_KEY=$TOKEN",
    "TOKEN=$(get-token --json)",
    "secret: process.env.SECRET",
    "token: <your-token>",
    "API_KEY=your-api-key-here",
    "api_key='YOUR_API_KEY'",
    "password=None",
    'secret_name = "my-secret"',
    'secret = "my-secret"',
    "password: changeme",
    'password = "********"',
    "PASSWORD=xxxxxxxx",
    'token: "..."',
    'token = f"{prefix}-{number}"',
    "{% set token = page.token1 %}",
    "color: #a1b2c3; background: #ffee00aa",
    '"react": "^18.2.0-rc.1+build5"',
    "2026-08-21T09:15:30.123456Z",
    "https://example.org/a/b?page=2&sort=name#token",
    "git@github.com:ann/project.git",
    "ssh://git@host.example.org/ann/project",
    "https://ann@example.org/x",
    "http://localhost:8080/@scope/name",
    "postgres://user:password@host/db",
    "postgres://${USER}:${PASS}@host/db",
    "ann.smith+tokens@example.org",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    'headers["Authorization"] = f"Bearer {token}"',
    "uses bearer authentication and basic auth",
    "the password must be 12 characters",
    "password is required",
    "the token is base64-encoded, the secret is 32-byte",
    "The password is 12-characters long at least",
    '{"password": "Your password must have 12 characters"}',
    '"password": "Password"',
    '"integrity": "sha512-9fJq3k2Lx8VbN0sYt7RwQe5ZcUaHd1Go6MiPxKj4BvTlFyWu2ErXnSz8CqDgAh0I7OmNpLbVtRkYwJfUeGsQ=="',
    "!function(e,t){var n=e.k7,r=t.p2x;n.a1b2c3=r}(a8,b9)",
    "from tenon.base.token_reader2 import TokenReader2",
    "test_a_token_that_has_been_revoked_cannot_be_used_twice_in_a_row = 1",
    "token budget: 500 tokens",
    "The tokenizer splits at spaces; a token is four letters.",
    "key: value",
    "primary_key: user_id2",
    "pass  # nothing to do",
    "export PATH=/usr/local/bin:/usr/bin:/opt/node18/bin",
    "export NODE_OPTIONS=--max-old-space-size=4096",
    "export GIT_COMMIT=9fceb02d0ae598e95dc970b74767f19372d61af8",
    "PWD=/home/ann/project1",
    "use --password to give it, --token is optional",
    "credentials: 'same-origin'",
    "auth: oauth2",
    "author = 'ann1984smithson'",
    'if "-----BEGIN PRIVATE KEY-----" in text:',
    "sk-fading-circle-container-large-12",
    "string token = 3;",
    'input("password: ")',
    'print("password: " + password + "!")',
    "type Token2Reader struct { token Token2 }",
    "PASSWORD_FILE=/run/secrets/db_password1",
    "cookie: document.cookie",
    'token = r"[-!#$%&*+.^_|~0-9a-zA-Z]+"',
    '{"Proxy-Authorization": "Basic <username>:<password>"}',
    # Code: an argument that is an identifier, a name of another secret, an item, a type, an attribute.
    "connect(password=password2)",
    "connect(host=host1, password=value22, timeout=3)",
    "connect(\n    host=host1,\n    password=value22,\n)",
    "connect(\n    host=host1,\n    password=value22\n)",
    "password=pw1 or pw2",
    "password=password2 if new else password1",
    "password=user_password2 + salt",
    "f(token=token1, password=userPass2)",
    "key=value1",
    "for token in tokens2:",
    "token = tokens[1]",
    "pw = pw[:-1]",
    "pw=args.pw",
    "    self.password=value22",
    "$password=value22;",
    "password=SecretStr | None",
    "password=CharField then",
    "password=[^&]+ matches",
    "password=\\S{8} matches",
    "password=get_password2() or None",
    "a = new ? password : other22",
    # Prose: a lower-case word, a word about passwords, a count, a length, a name beside the word.
    "password=sesame works",
    "das Passwort lautet anders!",
    "la contraseña es obligatoria",
    "le mot de passe est obligatoire",
    "mot de passe : obligatoire",
    "use sha256 as the password hash, base64 as the password",
    "store it as a password, not as token2",
    "we cracked passwords: 1234567",
    "the password field2 and the pwd module2 are new",
    "cat /etc/passwd file22",
    "pwd hunter",
    "ENV API_TOKEN must be set, ENV NODE_VERSION 18.2.0",
    "",
]  # fmt: skip

# The whole text, and what is kept of it: a password without quotes in prose, a note or a setting.
UNQUOTED = [
    ("password=hunter" + "2 works", "password=[redacted:password] works"),
    ("password=hunter" + "2 and AKIA" + "IOSFODNN7EXAMPLE", "password=[redacted:password] and [redacted:aws]"),
    ("password=Hunter" + "Two works", "password=[redacted:password] works"),
    ("  password=hunter" + "2, then", "  password=[redacted:password], then"),
    ("log in (password=hunter" + "2) first", "log in (password=[redacted:password]) first"),
    ("user=ann, password=hunter" + "2, host=db", "user=ann, password=[redacted:password], host=db"),
    ("`password=hunter" + "2`", "`password=[redacted:password]`"),
    ("password=Password" + "123 works", "password=[redacted:password] works"),
    ("pw=hunter" + "22", "pw=[redacted:password]"),
    ("db_pw: hunter" + "22", "db_pw: [redacted:password]"),
    ("Das Passwort lautet Sommer" + "2024!", "Das Passwort lautet [redacted:password]"),
    ("passwort: geheim" + "123", "passwort: [redacted:password]"),
    ("Passwort : geheim" + "123", "Passwort : [redacted:password]"),
    ("mot de passe : azerty" + "99", "mot de passe : [redacted:password]"),
    ("Mot de passe\u00a0: azerty" + "99", "Mot de passe\u00a0: [redacted:password]"),
    ("le mot de passe est azerty" + "99", "le mot de passe est [redacted:password]"),
    ("la contraseña es Abc" + "12345", "la contraseña es [redacted:password]"),
    ("la contrasen\u0303a: Abc" + "12345", "la contrasen\u0303a: [redacted:password]"),
    ("my password is sunshine" + "42 ok?", "my password is [redacted:password] ok?"),
    ("my password is 8271" + "9364 ok?", "my password is [redacted:password] ok?"),
    ("token: abc123" + "def456 then", "token: [redacted:token] then"),
    ("use X9f" + "-33kd as the password", "use [redacted:password] as the password"),
    ("nimm `X9f" + "-33kd` als Passwort", "nimm `[redacted:password]` als Passwort"),
    ("pwd hunter" + "22", "pwd [redacted:password]"),
    ("- password hunter" + "22\n- done", "- password [redacted:password]\n- done"),
    ("log in with password X9f" + "-33kd then", "log in with password [redacted:password] then"),
    ("FROM x\nENV DB_PASSWORD hunter" + "22\n", "FROM x\nENV DB_PASSWORD [redacted:password]\n"),
    ('ENV DB_PASSWORD "opensesame"', 'ENV DB_PASSWORD "[redacted:password]"'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "planted", "kind"), SHAPES, ids=[f"{kind}-{number}" for number, (_, _, kind) in enumerate(SHAPES)])
def test_a_secret_is_replaced_by_its_kind(text: str, planted: str, kind: str) -> None:
    """Alone, in a sentence, on a line among others, and after a written-out line break, the secret is gone."""
    for around in ("{}", "before {} after", "first line\n{}\nlast line", "日本語 {} 終わり"):
        kept = redact(around.format(text) if "{}" in around else text)

        assert planted not in kept
        assert f"[redacted:{kind}]" in kept
        assert kept == redact(kept)


def test_there_are_enough_shapes() -> None:
    """At least 40 shapes of secret and 40 texts that only look like one."""
    assert len(SHAPES) >= 40
    assert len(UNTOUCHED) >= 40


@pytest.mark.parametrize("text", UNTOUCHED)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    """Code, digests, placeholders and prose about secrets come back as the same object."""
    assert redact(text) is text
    assert redact(f"one line\n{text}\nanother") == f"one line\n{text}\nanother"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://ann:" + PASSWORD + "@example.org/x", "https://ann:[redacted:url-password]@example.org/x"),
        ("redis://:" + PASSWORD + "@cache:6379/0", "redis://:[redacted:url-password]@cache:6379/0"),
        ("Authorization: Bearer " + R24, "Authorization: Bearer [redacted:authorization]"),
        ("Server=db;Password=opensesame;Encrypt=yes", "Server=db;Password=[redacted:password];Encrypt=yes"),
        ("my password is " + PASSWORD + ", keep it.", "my password is [redacted:password], keep it."),
        ('x = f(password="' + PASSWORD + '", n=2)', 'x = f(password="[redacted:password]", n=2)'),
        ("?api_key=" + R24 + "&page=2", "?api_key=[redacted:key]&page=2"),
        ('api_key = "sk-ant-' + R40 + '"', 'api_key = "[redacted:anthropic]"'),
        (f"a\n{BEGIN}\n{BODY}\n{CLOSE}\nb", "a\n[redacted:private-key]\nb"),
        (f"a\n{BEGIN}\n{BODY}\nThe rest is prose.", "a\n[redacted:private-key]\nThe rest is prose."),
        ("\\nsk-ant-" + R40 + "\\n", "\\n[redacted:anthropic]\\n"),
        ("export A_TOKEN=" + R24 + "; run", "export A_TOKEN=[redacted:token]; run"),
    ],
)
def test_only_the_secret_goes(text: str, kept: str) -> None:
    """Scheme, user, host, names, quotes and the text around remain as they were."""
    assert redact(text) == kept


@pytest.mark.parametrize(("text", "kept"), UNQUOTED)
def test_a_password_without_quotes_goes_whatever_follows(text: str, kept: str) -> None:
    """A value with a digit, a symbol or a capital is the password, and the words around it stay."""
    assert redact(text) == kept
    assert redact(f"one line\n{text}\nanother") == f"one line\n{kept}\nanother"
    assert redact(kept) == kept


def test_a_value_names_its_secrets_by_its_keys() -> None:
    """A string under a secret's name goes as a whole; numbers, templates and other strings stay."""
    value = {
        "command": "curl -H 'Authorization: Bearer " + R24 + "'",
        "password": "a b c",
        "env": {"API_KEY": "opensesame", "HOME": "/home/ann", "TOKEN": "${TOKEN}"},
        "argv": ["run", "--password", "opensesame", "--verbose", "yes"],
        "list": [{"name": "DB_PASSWORD", "value": "opensesame"}, {"name": "REGION", "value": "north"}],
        "max_tokens": 5,
        "token": None,
        "ok": True,
        "author": "Ann",
    }

    assert redact_value(value) == {
        "command": "curl -H 'Authorization: Bearer [redacted:authorization]'",
        "password": "[redacted:password]",
        "env": {"API_KEY": "[redacted:key]", "HOME": "/home/ann", "TOKEN": "${TOKEN}"},
        "argv": ["run", "--password", "[redacted:password]", "--verbose", "yes"],
        "list": [{"name": "DB_PASSWORD", "value": "[redacted:password]"}, {"name": "REGION", "value": "north"}],
        "max_tokens": 5,
        "token": None,
        "ok": True,
        "author": "Ann",
    }


def test_a_key_that_is_a_secret_goes_too() -> None:
    """Two keys that become the same mark are both kept."""
    assert redact_value({"ghp_" + R40[:36]: 1, "gho_" + R40[:36]: 2}) == {"[redacted:github]": 1, "[redacted:github]'": 2}


def test_an_image_is_left_alone() -> None:
    """Base64 of an image or a document is not looked at; what only claims to be base64 is."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AKIA" + "Q3EXWZ7RT5YUBN2K"}}
    liar = {"type": "base64", "media_type": "text/plain", "data": "sk-ant-" + R40}

    assert redact_value(image) == image
    assert redact_value(liar) == {"type": "base64", "media_type": "text/plain", "data": "[redacted:anthropic]"}


def test_a_bottomless_value_does_not_break_off() -> None:
    """What is nested deeper than any real input is dropped, not passed on unread."""
    value: object = PASSWORD
    for _ in range(5000):
        value = [value]

    assert PASSWORD not in str(redact_value({"x": value}))


def test_lower_case_keeps_every_place() -> None:
    """A capital whose small letter is two characters does not shift what is cut out."""
    assert redact("İİİ password=" + PASSWORD + " İ") == "İİİ password=[redacted:password] İ"
    assert [chr(code) for code in range(0x110000) if len(chr(code).lower()) != 1] == ["İ"]


AROUND = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=["Cs"]), max_size=60)
PLANTED = st.sampled_from([
    "sk-ant-" + R40, "ghp_" + R40[:36], "AKIA" + "Q3EXWZ7RT5YUBN2K", "xoxb-" + "123456789012-" + R24, "glpat-" + R24, "npm_" + R40[:36],
    "AIza" + R40[:35], JWT, "hf_" + R40[:34], "SG." + R24 + "." + R40, "dapi" + HEX32, "https://ann:" + R24 + "@example.org",
])  # fmt: skip
FRAGMENTS = st.lists(
    st.sampled_from([
        "password", "token", "api_key", "secret", "--password", "export ", "=", ": ", " is ", '"', "'", "\\", "\n", " ", ";", "&", ",", "`", "://", "@",
        "ann:", R24, PASSWORD, "ghp_" + R40[:36], "AKIA" + "Q3EXWZ7RT5YUBN2K", "sk-ant-" + R40, JWT, BEGIN, BODY, CLOSE, "[redacted:key]", "Bearer ",
        " as the password", " lautet ", "ENV A_PASSWORD ", "pw", "hunter" + "2", "Authorization: ", "Cookie: a=", ".", "-", "_", "x", "{", "}", "(", "<", ">", "value", "\\n", "curl -u ", "login ",
    ]),
    max_size=24,
).map("".join)  # fmt: skip


@given(FRAGMENTS)
@settings(max_examples=600, deadline=None)
def test_a_second_time_changes_nothing(text: str) -> None:
    """Whatever pieces of secrets, names and quotes are put together, once is enough."""
    once = redact(text)

    assert redact(once) == once


@given(AROUND, PLANTED, AROUND)
@settings(max_examples=200, deadline=None)
def test_a_planted_secret_is_gone(before: str, planted: str, after: str) -> None:
    """Whatever stands around a secret, a space away, does not save it."""
    kept = redact(f"{before} {planted} {after}")

    assert planted not in kept
    assert "[redacted:" in kept
    assert kept == redact(kept)


@given(st.text("abcdefghij ÄÖ日本\n(),=:\"'", max_size=300))
@settings(max_examples=100, deadline=None)
def test_a_text_without_a_trigger_is_the_same_object(text: str) -> None:
    """There is nothing to copy when there is nothing to hide."""
    assert redact(text) is text


def _patterns() -> list[re.Pattern[str]]:
    found: list[re.Pattern[str]] = []

    def collect(value: Any) -> None:
        if isinstance(value, re.Pattern):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            for each in value:
                collect(each)
        elif isinstance(value, dict):
            collect(list(value.values()))

    written = [pattern for *_, pattern in (*shapes._SHAPES, *module._PLACES, *module._EXPORTS)]
    collect([re.compile(pattern, re.ASCII) for pattern in (*written, *(stem + module._SEPARATOR for stem in module._STEMS))])
    for source in (module, secret, shapes):
        for name, value in vars(source).items():
            if not name.startswith("__"):
                collect(value)
    return found


def _open_ended(items: Any, last: bool, parser: Any) -> bool:
    """Whether a repetition without bound stands where something after it could fail, and so be tried again shorter."""
    for number, (operation, argument) in enumerate(items):
        final = last and number == len(items) - 1
        inner: list[tuple[Any, bool]] = []
        if operation in (parser.MAX_REPEAT, parser.MIN_REPEAT):
            # One character class with nothing but optional items after it cannot fail either.
            rest = items[number + 1 :]
            optional = last and all(op == parser.MAX_REPEAT and arg[0] == 0 for op, arg in rest)
            if argument[1] == parser.MAXREPEAT and not (final or optional):
                return True
            inner = [(argument[2], False)]
        elif operation is parser.SUBPATTERN:
            inner = [(argument[-1], final)]
        elif operation is parser.BRANCH:
            inner = [(branch, final) for branch in argument[1]]
        elif operation in (parser.ASSERT, parser.ASSERT_NOT):
            inner = [(argument[1], False)]
        if any(_open_ended(each, end, parser) for each, end in inner):
            return True
    return False


def test_no_pattern_can_run_away() -> None:
    """Every repetition is bounded, or nothing that stands after it can fail."""
    parser: Any = __import__("re._parser", fromlist=["parse"]) if sys.version_info >= (3, 11) else __import__("sre_parse")
    patterns = _patterns()

    assert len(patterns) > 30
    assert [each.pattern for each in patterns if _open_ended(list(parser.parse(each.pattern, each.flags)), True, parser)] == []


HOSTILE = [
    'password="', "token=", 'token="\\"', "api_key: ", "://a:", "eyJ", "eyJ-", "-", "_", ".", ". ", "key-", BEGIN, BEGIN + "\n", "-----BEGIN ", "-----END ",
    "authorization: bearer ", "cookie: a=", "curl -u ", "login a ", "mysql  -p", "password ", "export A=", "--password ", "\\\\", "\\n", "AKIA", "SG.", "Aa1",
    "password is ", "token: a<", "{", "a.b.", "my-", "/", "password=my-a-", "key key ", "secret\t",
    "password=a1b2 ", "(password=a1b2, ", "a1b2c3 as the password ", " as ", "pw ", "password a1b2c3 ", "ENV A_TOKEN ", "contraseña", "mot de passe : ",
]  # fmt: skip


def _calls(text: str) -> int:
    """How many calls, of Python and of C, one redaction makes."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        if event in ("call", "c_call"):
            calls += 1

    sys.setprofile(count)
    try:
        redact(text)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("piece", HOSTILE)
def test_work_grows_no_faster_than_the_text(piece: str) -> None:
    """Four times the text takes no more than four times the calls, each of which looks at a bounded stretch."""
    small = _calls(piece * (16_384 // len(piece)))
    large = _calls(piece * (65_536 // len(piece)))

    assert large <= 4.2 * small + 200


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["token=", "key-", "eyJ-", "://a:", BEGIN + "\n", 'password="', "-"])
def test_a_hostile_megabyte_comes_to_an_end(piece: str) -> None:
    """A megabyte of nothing but triggers is read to its end with at most twenty calls a character."""
    text = piece * (1_048_576 // len(piece))

    assert _calls(text) <= 20 * len(text)
