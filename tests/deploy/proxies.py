"""Real proxies before servers of tests, with the files of deploy/proxy."""

import asyncio
import ipaddress
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.deploy.programs import program

FOLDER = Path(__file__).parents[2] / "deploy" / "proxy"
LIMIT = 30.0
SERVER = "127.0.0.1:8765"
"""Where the files of deploy/proxy have the one server."""


def certificate(folder: Path) -> Path:
    """A certificate of one's own for `localhost`: tls.crt, tls.key, and both in tls.pem."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "tls.crt").write_bytes(public)
    (folder / "tls.key").write_bytes(private)
    (folder / "tls.pem").write_bytes(public + private)
    return folder / "tls.crt"


def placed(name: str, folder: Path, port: int, behind: Sequence[int]) -> str:
    """A file of deploy/proxy with the ports and paths of a test; each must be there to be replaced. The line of the server
    is there once for each that stands behind it."""
    text = (FOLDER / name).read_text("utf-8")
    [line] = [line for line in text.splitlines() if SERVER in line]
    lines: list[str] = []
    for number, each in enumerate(behind):
        lines.append(line.replace(SERVER, f"127.0.0.1:{each}").replace(" one ", f" number{number} "))
    changes = {line: "\n".join(lines), "ops.example.com": "localhost", "/etc/adjourn": str(folder)}
    if name == "Caddyfile":
        del changes["/etc/adjourn"]
        tls = f"tls {folder}/tls.crt {folder}/tls.key"
        changes["ops.example.com {"] = f"https://localhost:{port} {{\n\tbind 127.0.0.1\n\t{tls}"
        del changes["ops.example.com"]
    elif name == "nginx.conf":
        changes["listen 443"] = f"listen 127.0.0.1:{port}"
    else:
        changes["maxconn 4000"] = "maxconn 100"  # whatever number of files a machine allows
        changes["bind :443"] = f"bind 127.0.0.1:{port}"
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def caddy(folder: Path, port: int, behind: Sequence[int]) -> list[str]:
    head = (
        "{\n\tadmin off\n\tpersist_config off\n\tauto_https disable_redirects\n\tstorage file_system "
        + str(folder)
        + "\n}\n"
    )
    (folder / "Caddyfile").write_text(head + placed("Caddyfile", folder, port, behind))
    return [program("caddy"), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def nginx(folder: Path, port: int, behind: Sequence[int]) -> list[str]:
    (folder / "adjourn.conf").write_text(placed("nginx.conf", folder, port, behind))
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{paths}include {folder}/adjourn.conf;\n}}\n"
    )
    return [program("nginx"), "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def haproxy(folder: Path, port: int, behind: Sequence[int]) -> list[str]:
    (folder / "haproxy.cfg").write_text(placed("haproxy.cfg", folder, port, behind))
    return [program("haproxy"), "-db", "-f", str(folder / "haproxy.cfg")]


PROXIES = {"caddy": caddy, "nginx": nginx, "haproxy": haproxy}


@asynccontextmanager
async def begun(command: list[str], port: int) -> AsyncGenerator[None]:
    """A proxy, from when it answers until the end."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    said = asyncio.create_task(process.stderr.read())
    try:
        async with asyncio.timeout(LIMIT):
            while True:
                if process.returncode is not None:  # its port may have been taken meanwhile: the suite tries again
                    raise TimeoutError((await said).decode())
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.02)
                else:
                    writer.close()
                    break
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await said
