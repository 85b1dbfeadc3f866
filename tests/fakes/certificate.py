"""A certificate of our own for loopback servers, made by the machine's openssl."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest


def made(folder: Path, *names: str) -> tuple[Path, ssl.SSLContext]:
    """The certificate's file, which is its own CA, and a server's context with it; the test is skipped where there is no openssl."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl")
    certificate, key = folder / "ca é.pem", folder / "key.pem"
    listed = ",".join(f"IP:{name}" if name[0].isdigit() else f"DNS:{name}" for name in names)
    subprocess.run(
        [
            openssl, "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2", "-subj", "/CN=Test",
            "-addext", f"subjectAltName={listed}", "-addext", "keyUsage=critical,keyCertSign,digitalSignature",
            "-keyout", str(key), "-out", str(certificate),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate, context
