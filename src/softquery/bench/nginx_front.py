"""nginx in front of several servers, as `deploy/nginx.conf` sets it up."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from string import Template

from softquery.errors import ConfigError

STARTS = 10.0
"""Seconds within which nginx must listen."""

CONFIGURATION = Template("""\
# nginx in front of several softquery servers: the least busy one answers, and one that is
# restarted is passed over. Requests only read, so that all may be sent again; where clients
# may send files to be indexed (--uploads), leave out non_idempotent. Let servers --linger for
# longer than fail_timeout, so that none stops while another is still passed over.

worker_processes auto;
pid $folder/nginx.pid;
error_log $folder/error.log warn;

events {
    worker_connections 4096;
}

http {
    access_log off;
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/unused;
    uwsgi_temp_path $folder/unused;
    scgi_temp_path $folder/unused;

    upstream softquery {
        least_conn;
$servers
        keepalive 64;
    }
$canary
    server {
        listen $listen;
        client_max_body_size 2m;
        keepalive_requests 100000;

        location / {
            proxy_pass http://$target;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $$host;
            proxy_connect_timeout 1s;
            proxy_read_timeout 35s;
            proxy_next_upstream error timeout http_503 non_idempotent;
            proxy_next_upstream_tries 3;
        }
    }
}
""")
_CANARY = Template("""
    upstream canary {
$servers
        keepalive 64;
    }

    # A share of the clients, each of them always the same one, is answered by the canary.
    split_clients "$${remote_addr}$${http_authorization}" $$answered_by {
        $share canary;
        * softquery;
    }
""")


def configuration(
    servers: Sequence[str],
    *,
    listen: str,
    folder: str,
    canary: Sequence[str] = (),
    share: str = "5%",
) -> str:
    """What nginx reads.

    Args:
        servers: Addresses of servers, as `HOST:PORT`.
        listen: Where nginx listens.
        folder: Where its own files go.
        canary: Addresses of servers with another version or model, which a share of clients asks.
        share: Their share.

    >>> text = configuration(["10.0.0.1:8000"], listen="8080", folder="/run/nginx")
    >>> [line.strip() for line in text.splitlines() if "10.0.0.1" in line]
    ['server 10.0.0.1:8000 max_fails=1 fail_timeout=1s;']
    """
    second = _CANARY.substitute(servers=_lines(canary), share=share) if canary else ""
    return CONFIGURATION.substitute(
        servers=_lines(servers),
        canary=second,
        target="$answered_by" if canary else "softquery",
        listen=listen,
        folder=folder,
    )


def find_nginx() -> str:
    """The program, which is not on every user's path.

    Raises:
        ConfigError: nginx is not installed.
    """
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise ConfigError("nginx is not installed")
    return program


@contextmanager
def nginx_before(
    ports: Sequence[int], folder: Path, *, canary: Sequence[int] = ()
) -> Iterator[int]:
    """Run nginx in front of servers of this machine; gives its port.

    Raises:
        ConfigError: nginx is not installed, or does not start.
    """
    program = find_nginx()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    file = folder / "nginx.conf"
    text = configuration(
        [f"127.0.0.1:{each}" for each in ports],
        listen=f"127.0.0.1:{port}",
        folder=str(folder),
        canary=[f"127.0.0.1:{each}" for each in canary],
        share="20%",
    )
    file.write_text(text, encoding="utf-8")
    command = [program, "-c", str(file), "-p", str(folder), "-g", "daemon off;"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(process, port)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _lines(servers: Sequence[str]) -> str:
    indent = " " * 8
    return "\n".join(f"{indent}server {each} max_fails=1 fail_timeout=1s;" for each in servers)


def _wait_for(process: "subprocess.Popen[bytes]", port: int) -> None:
    end = time.monotonic() + STARTS
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise ConfigError(f"nginx did not start (code {process.poll()}); try it by itself")
