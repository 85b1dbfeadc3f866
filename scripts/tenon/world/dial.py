"""A connection to the upstream as this machine makes them: directly or through a company's proxy, with its certificates."""

from __future__ import annotations

import os
import socket
from urllib.parse import unquote, urlsplit

from tenon.base.errors import TenonError
from tenon.world import http1

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from urllib.parse import SplitResult

    from tenon.world.call import Call

CONNECT_S = 10.0
NEXT_ADDRESS_S = 3.0  # a host with several addresses: how long one that does not answer holds up the next
HANDSHAKE_S = 15.0
# The CA bundles of systems whose OpenSSL was built for a folder that is not there (python.org's macOS build).
BUNDLES = ("/etc/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/opt/homebrew/etc/ca-certificates/cert.pem")
IGNORE_EOF = 0x80  # OpenSSL 3's word for taking a torn connection for an ended one; Python 3.9 sets it
EXTRA_CA = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


class Unreachable(Exception):
    """No connection, and in a sentence why; nothing was sent."""


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


class Dialler:
    """Makes connections to one place. `doubts` names certificate files that could not be read."""

    __slots__ = ("place", "proxy", "context", "doubts", "_answered")

    def __init__(self, target: Place, env: Mapping[str, str]) -> None:
        self.place = target
        self.proxy = _proxy(target, env)
        self.doubts: list[str] = []
        self.context = self._trust(env) if target.scheme == "https" else None
        self._answered: object = None  # the address that answered last is tried first

    def open(self, call: Call) -> socket.socket:
        """A connection that is ready for a request. Raises Unreachable, or call.Abandoned."""
        hop = self.proxy or self.place
        connection = self._connect(hop, call)
        try:
            connection.settimeout(HANDSHAKE_S)
            if self.proxy:
                self._tunnel(connection)
            if self.context:
                connection = self._encrypt(connection, self.context)
                call.hold(connection)
            connection.settimeout(None)
        except BaseException:
            call.let_go()
            connection.close()
            raise
        return connection

    def _connect(self, hop: Place, call: Call) -> socket.socket:
        through = " (the proxy that HTTPS_PROXY or HTTP_PROXY names)" if self.proxy else ""
        try:
            found = socket.getaddrinfo(hop.host, hop.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise Unreachable(f"the name {hop.host}{through} was not found: {_reason(error)}") from error
        found.sort(key=lambda one: one[4] != self._answered)
        problem: OSError = OSError("it has no address")
        for number, (family, kind, protocol, _, address) in enumerate(found):
            connection = socket.socket(family, kind, protocol)
            try:
                call.hold(connection)
                connection.settimeout(NEXT_ADDRESS_S if number < len(found) - 1 else CONNECT_S)
                connection.connect(address)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            except OSError as error:
                call.let_go()
                connection.close()
                problem = error
            except BaseException:
                connection.close()
                raise
            else:
                self._answered = address
                return connection
        raise Unreachable(f"{hop.host}:{hop.port}{through} does not answer: {_reason(problem)}") from problem

    def _tunnel(self, connection: socket.socket) -> None:
        proxy, target = self.proxy, self.place
        assert proxy is not None  # noqa: S101 - asked for by open() only
        host = f"[{target.host}]" if ":" in target.host else target.host
        headers = [("Host", f"{host}:{target.port}")]
        if proxy.credentials:
            headers.append(("Proxy-Authorization", basic(proxy.credentials)))
        stream = http1.Stream(connection)
        try:
            connection.sendall(http1.head(f"CONNECT {host}:{target.port} HTTP/1.1", headers))
            first, _ = http1.read_head(stream)
        except (OSError, http1.Torn, http1.Malformed) as error:
            raise Unreachable(f"the proxy {proxy.masked} that HTTPS_PROXY or HTTP_PROXY names broke off: {_reason(error)}") from error
        status = first.split(" ")[1:2]
        if status == ["407"]:
            raise Unreachable(f"the proxy {proxy.masked} that HTTPS_PROXY or HTTP_PROXY names does not take the name and password in that address")
        if not status or not status[0].startswith("2") or stream.waiting:
            raise Unreachable(f"the proxy {proxy.masked} that HTTPS_PROXY or HTTP_PROXY names does not let through to {host}:{target.port} ({first[:80]})")

    def _encrypt(self, connection: socket.socket, context: ssl.SSLContext) -> socket.socket:
        import ssl

        try:
            return context.wrap_socket(connection, server_hostname=self.place.host, suppress_ragged_eofs=False)
        except ssl.SSLCertVerificationError as error:
            raise Unreachable(
                f"the certificate of {self.place.host} is not trusted ({error.verify_message}); "
                "if your company issues its own, name its CA file in NODE_EXTRA_CA_CERTS or SSL_CERT_FILE"
            ) from error
        except OSError as error:
            raise Unreachable(f"{self.place.host} does not agree on encryption: {_reason(error)}") from error

    def _trust(self, env: Mapping[str, str]) -> ssl.SSLContext:
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
                    self.doubts.append(f"the CA file that {name} names cannot be used: {_reason(error)}")
        if env.get("CLAUDE_CODE_CLIENT_CERT"):
            try:
                context.load_cert_chain(
                    env["CLAUDE_CODE_CLIENT_CERT"], env.get("CLAUDE_CODE_CLIENT_KEY") or None, env.get("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "")
                )
            except OSError as error:
                self.doubts.append(f"the certificate that CLAUDE_CODE_CLIENT_CERT names cannot be used: {_reason(error)}")
        return context


def basic(credentials: str) -> str:
    """The header value that gives a name and a password."""
    import base64

    return "Basic " + base64.b64encode(credentials.encode("utf-8")).decode("ascii")


def is_loopback(host: str) -> bool:
    """Whether that is this machine by its usual names."""
    return host in {"localhost", "::1"} or (host.startswith("127.") and host.replace(".", "").isdigit())


def _proxy(target: Place, env: Mapping[str, str]) -> Place | None:
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


def _reason(error: Exception) -> str:
    """What the system says of it; never an address, which may hold a password."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
