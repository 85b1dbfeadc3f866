"""The way to an upstream from this machine: its address, the company's proxy in between, and whom to believe."""

from __future__ import annotations

import base64
import os
from urllib.parse import unquote, urlsplit

from tenon.base.errors import TenonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from urllib.parse import SplitResult

    from tenon.base.settings import Settings

DEFAULT = "https://api.anthropic.com"
VARIABLE = "ANTHROPIC_BASE_URL"
# The CA bundles of systems whose OpenSSL was built for a folder that is not there (python.org's macOS build).
BUNDLES = ("/etc/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/opt/homebrew/etc/ca-certificates/cert.pem")
IGNORE_EOF = 0x80  # OpenSSL 3's word for taking a torn connection for an ended one; Python 3.9 sets it
EXTRA_CA = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


class Place:
    """Where an address leads: scheme, host, port, base path, and the credentials that were written into it."""

    __slots__ = ("scheme", "host", "port", "path", "credentials")

    def __init__(self, scheme: str, host: str, port: int, path: str, credentials: str) -> None:
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
        self.credentials = credentials

    @property
    def authority(self) -> str:
        """What the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _port(self.scheme) else f"{host}:{self.port}"

    @property
    def masked(self) -> str:
        """The address as it may be shown."""
        return f"{self.scheme}://{'***@' if self.credentials else ''}{self.authority}{self.path}"


def place(url: str, what: str, schemes: tuple[str, ...] = ("http", "https")) -> Place:
    """The parts of an address. Raises TenonError, which never repeats the credentials in it."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port or _port(parts.scheme)
    except ValueError as error:
        raise TenonError(f"{what} is not an address: it needs the form {schemes[0]}://host:port") from error
    if parts.scheme not in schemes or not parts.hostname or not parts.hostname.isascii() or parts.query or parts.fragment:
        raise TenonError(f"{what} must begin with {' or '.join(scheme + '://' for scheme in schemes)} and a host, and have no ? or # part")
    return Place(parts.scheme, parts.hostname, port, parts.path.rstrip("/"), _credentials(parts))


def resolve(chosen: Settings, env: Mapping[str, str], user_settings: Mapping[str, object]) -> str:
    """The upstream's address.

    It is the setting `upstream`, else ANTHROPIC_BASE_URL of the environment or of the user's Claude Code settings, unless
    that is this proxy; else the Messages API's own.
    """
    if chosen.text("upstream").strip():
        return chosen.text("upstream").strip()
    block = user_settings.get("env")
    stated = block.get(VARIABLE) if isinstance(block, dict) else None
    for url in (env.get(VARIABLE), stated):
        if isinstance(url, str) and url.strip() and not is_ours(url, int(chosen.number("proxy.port"))):
            return url.strip()
    return DEFAULT


def is_ours(url: str, port: int) -> bool:
    """Whether that address is the proxy's own."""
    try:
        found = place(url, "the address")
    except TenonError:
        return False
    return is_loopback(found.host) and (found.port == port or found.path.startswith("/agent/"))


def trust(env: Mapping[str, str], doubts: list[str]) -> ssl.SSLContext:
    """Whom this machine believes, with the CA files that the environment names; to `doubts` goes what of them could not be read."""
    import ssl

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if ssl.OPENSSL_VERSION_INFO >= (3,):
        context.options &= ~IGNORE_EOF
    # Python 3.13 refuses CAs that lack extensions, as those of many companies do; Claude Code by itself takes them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not context.cert_store_stats()["x509_ca"] and not os.path.isdir(ssl.get_default_verify_paths().capath or ""):
        for path in BUNDLES:
            if os.path.isfile(path):
                context.load_verify_locations(path)
                break
    for name in EXTRA_CA:
        if env.get(name):
            try:
                context.load_verify_locations(env[name])
            except OSError as error:
                doubts.append(f"the CA file that {name} names cannot be used: {reason(error)}")
    if env.get("CLAUDE_CODE_CLIENT_CERT"):
        try:
            context.load_cert_chain(env["CLAUDE_CODE_CLIENT_CERT"], env.get("CLAUDE_CODE_CLIENT_KEY") or None, env.get("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", ""))
        except OSError as error:
            doubts.append(f"the certificate that CLAUDE_CODE_CLIENT_CERT names cannot be used: {reason(error)}")
    return context


def basic(credentials: str) -> str:
    """The header value that gives a name and a password."""
    return "Basic " + base64.b64encode(credentials.encode("utf-8")).decode("ascii")


def is_loopback(host: str) -> bool:
    """Whether that is this machine by its usual names."""
    return host in {"localhost", "::1"} or (host.startswith("127.") and host.replace(".", "").isdigit())


def proxy(target: Place, env: Mapping[str, str]) -> Place | None:
    """The proxy on the way, chosen as Claude Code chooses it; HTTP_PROXY serves where HTTPS_PROXY is not set."""
    if is_loopback(target.host) or _spared(target, env.get("no_proxy") or env.get("NO_PROXY") or ""):
        return None
    names = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY")
    for name in names if target.scheme == "https" else names[2:]:
        if env.get(name):
            url = env[name] if "://" in env[name] else "http://" + env[name]
            return place(url, f"the proxy address in {name}", ("http",))
    return None


def _spared(target: Place, listed: str) -> bool:
    """Whether NO_PROXY names the host: itself, a domain it is in, a network, or everything; each with or without a port."""
    for entry in listed.replace(",", " ").lower().split():
        name, colon, port = entry.rpartition(":")
        if colon and port.isdigit() and entry.count(":") == 1:
            if int(port) != target.port:
                continue
            entry = name
        entry = entry.strip("[]")
        if entry in {"*", target.host} or target.host.endswith("." + entry.lstrip("*").lstrip(".")):
            return True
        if "/" in entry and _within(target.host, entry):
            return True
    return False


def _within(host: str, network: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _credentials(parts: SplitResult) -> str:
    if parts.username is None and parts.password is None:
        return ""
    return f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def reason(error: Exception) -> str:
    """What the system says of it; never an address, which may hold a password."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
