"""The way to a server: proxies, certificates, names that there are not."""

from __future__ import annotations

import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from faultserver import Behaviour, FaultServer
from hostile import Hostile, completion, judged, reply, self_signed
from running import Shell

from judge.backends.connection import Connection
from judge.types import Annotated, JudgeError

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", PROXIES)
def test_what_is_for_this_machine_goes_through_no_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with Hostile(reply(completion())) as proxy, FaultServer(Behaviour()) as server:
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        ends, said = judged(server.url, tmp_path, 3)
        assert all(isinstance(end.outcome, Annotated) for end in ends.values())
        assert not proxy.requests
        assert not said


def test_a_proxy_for_another_machine_is_used_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hostile(reply(completion())) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:hunter2@127.0.0.1:{proxy.port}")
        ends, said = judged("http://judge.example:8000/v1", tmp_path)
    assert isinstance(ends["study-0000"].outcome, Annotated)
    assert proxy.requests[0].startswith("POST http://judge.example:8000/v1/chat/completions ")
    assert "Proxy-Authorization: Basic " in proxy.requests[0]
    assert said == [
        (
            "Sending reports to http://judge.example:8000/v1 (model model-x) "
            f"through the proxy http://127.0.0.1:{proxy.port}."
        )
    ]


def test_no_proxy_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    assert Connection("https://far.example/v1").proxy == "http://proxy.example:3128"
    monkeypatch.setenv("NO_PROXY", "far.example")
    assert Connection("https://far.example/v1").proxy is None


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "http://127.0.0.1:99999", "http://"])
def test_a_proxy_that_cannot_be_used_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(JudgeError, match="proxy"):
        judged("http://judge.example/v1", tmp_path)


@pytest.mark.parametrize("status", ["403 Forbidden", "407 Proxy Authentication Required"])
def test_a_proxy_that_refuses_is_no_outage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    with Hostile(reply(b"", status)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        with pytest.raises(JudgeError, match=rf"proxy .* refuses .*{status[:3]}"):
            judged("https://judge.example/v1", tmp_path)
        assert proxy.requests[0].startswith("CONNECT judge.example:443 ")
        assert "sk-secret-key" not in "".join(proxy.requests)


def test_a_certificate_that_nobody_vouches_for(tmp_path: Path) -> None:
    with Hostile(reply(completion()), tls=self_signed(tmp_path)) as server:
        with pytest.raises(JudgeError, match="certificate is not trusted") as caught:
            judged(server.url, tmp_path)
        assert not server.requests
    assert "SSL_CERT_FILE" in str(caught.value)


def test_a_certificate_of_ones_own_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hostile(reply(completion()), tls=self_signed(tmp_path)) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        ends, _ = judged(server.url, tmp_path)
    assert isinstance(ends["study-0000"].outcome, Annotated)


def test_https_where_there_is_only_http(tmp_path: Path) -> None:
    with (
        Hostile(reply(completion())) as server,
        pytest.raises(JudgeError, match="over TLS") as caught,
    ):
        judged(server.url.replace("http:", "https:"), tmp_path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_machine_that_there_is_not(tmp_path: Path) -> None:
    """`.invalid` is reserved for names that no machine has [RFC 2606]."""
    import socket

    try:
        socket.getaddrinfo("nobody.invalid", 80)
    except socket.gaierror as error:
        if error.errno != socket.EAI_NONAME:
            pytest.skip("no name server within reach")
    with pytest.raises(JudgeError, match="no machine"):
        judged("http://nobody.invalid/v1", tmp_path)


def test_a_terminal_is_not_steered_by_a_server_or_an_id(tmp_path: Path) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\x9b31m"
    said = {"error": {"message": f"no {nasty} such model"}}
    with Hostile(reply(said, "404 Not Found")) as server:
        shell = Shell(tmp_path, server.url, "green")
        shell.write(2)
        code, out, err = shell.run()
    assert code == 2
    assert "such model" in err
    assert not {"\x1b", "\x07", "\x9b"} & {*out, *err}
    (tmp_path / "both.csv").write_text(f"study_id,reference,candidate\n{nasty},a,b\n{nasty},a,c\n")
    done = subprocess.run(
        [sys.executable, "-m", "judge", "green", "both.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert not {"\x1b", "\x07", "\x9b"} & {*done.stdout, *done.stderr}


def test_a_run_is_its_owners_alone(tmp_path: Path) -> None:
    with FaultServer(Behaviour()) as server:
        shell = Shell(tmp_path, server.url, "green")
        shell.write(3)
        old = __import__("os").umask(0)
        try:
            assert shell.run("--out", "deep/run")[0] == 0
            page = [sys.executable, "-m", "judge", "audit", "deep/run", "--html", "page.html"]
            subprocess.run(page, cwd=tmp_path, check=True, capture_output=True)
        finally:
            __import__("os").umask(old)
    made = [tmp_path / "deep", *(tmp_path / "deep").rglob("*"), tmp_path / "page.html"]
    made += [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]
    rights = {str(path): path.stat().st_mode & 0o777 for path in made}
    assert all(rights[str(path)] == (0o700 if path.is_dir() else 0o600) for path in made), rights


def test_tls_trusts_the_system() -> None:
    from judge.backends.openai_client import trusted

    context = trusted("https://example.org/v1")
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert trusted("http://127.0.0.1/v1") is True
