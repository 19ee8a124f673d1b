"""A hub behind nginx with TLS and a path prefix, as `packaging/nginx.conf` says it."""

import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
PACKAGED = Path(__file__).parents[2] / "packaging" / "nginx.conf"


def certificate(directory: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    (directory / "fullchain.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (directory / "privkey.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[tuple[str, ServerProcess, ServerProcess]]:
    """The proxy's address, the hub behind it, and a machine that joined through it."""
    if not Path(NGINX).exists():
        pytest.skip("not installed: nginx")
    certs = tmp_path / "certs"
    certs.mkdir()
    certificate(certs)
    port = free_port()
    with ExitStack() as stack:
        homes = [tmp_path / name for name in ("hub", "machine")]
        hub = ServerProcess(
            homes[0],
            DUETTY_POLICY_PROFILE="open",
            DUETTY_SERVER_BASE_PREFIX="/duetty",
            DUETTY_SERVER_HOSTS=f"localhost:{port}",
        )
        machine = ServerProcess(
            homes[1],
            DUETTY_POLICY_PROFILE="open",
            DUETTY_HUB_TLS_CA=str(certs / "fullchain.pem"),
        )
        for server, name in ((hub, "hub"), (machine, "machine")):
            server.start("--hostname", name)
            stack.callback(server.end)
        behind = hub.url().removeprefix("http://").removesuffix("/duetty")
        settings = (
            PACKAGED.read_text()
            .replace("server hub-1:9320;", f"server {behind};")
            .replace("    server hub-2:9320;\n", "")
            .replace("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;")
            .replace("server_name hub.example;", "server_name localhost;")
            .replace("certs/", f"{certs}/")
        )
        (tmp_path / "nginx.conf").write_text(
            f"daemon off; pid {tmp_path}/pid; error_log stderr;\n"
            + settings.replace(
                "http {",
                "http {\n  access_log off;\n"
                + "".join(
                    f"  {kind}_temp_path {tmp_path}/{kind};\n"
                    for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
                ),
                1,
            )
        )
        nginx = subprocess.Popen(
            [NGINX, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")],
            stderr=subprocess.DEVNULL,
        )

        def end() -> None:
            nginx.terminate()
            nginx.wait()

        stack.callback(end)
        url = f"https://localhost:{port}/duetty"
        end_s = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert nginx.poll() is None, "nginx does not start"
                assert time.monotonic() < end_s
                time.sleep(0.02)
        token = machine.home / "hub-token"
        token.write_text(hub.token())
        done = machine.command("join", url, "--token-file", str(token))
        assert done.returncode == 0, done.stderr
        yield url, hub, machine


def test_a_machine_joins_and_is_called_through_a_prefixing_tls_proxy(
    proxied: tuple[str, ServerProcess, ServerProcess], tmp_path: Path
) -> None:
    url, hub, machine = proxied
    made = machine.client.post("/sessions", {"name": "far", "command": "bash"})
    headers = {"Authorization": f"Bearer {hub.token()}"}
    with httpx.Client(
        base_url=url,
        headers=headers,
        verify=ssl.create_default_context(cafile=tmp_path / "certs" / "fullchain.pem"),
        timeout=60,
    ) as client:
        end_s = time.monotonic() + 30
        while client.get(f"/sessions/{made['id']}").status_code != 200:
            assert time.monotonic() < end_s
            time.sleep(0.05)

        answer = client.post(f"/sessions/{made['id']}/run", json={"input": "echo through"})
        outside = client.get("https://" + url.split("/")[2] + "/health")

    assert answer.json()["output"] == "through"
    assert outside.status_code in (403, 404)  # the proxy passes on nothing but the prefix
