"""Who may ask for what, from where, and how much of it."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from served import COMMENT, REVIEWS_AT, Served, is_problem, until

TOKEN = "a-long-token-éß"
BEARER = {b"Authorization": f"Bearer {TOKEN}".encode()}


@pytest.fixture
def api(shared_service: Served) -> httpx.Client:
    return shared_service.client


@pytest.fixture(scope="module")
def guarded(
    tmp_path_factory: pytest.TempPathFactory, judged_examples: Path
) -> Iterator[Served]:
    """A service with a token, which the environment gives it."""
    folder = tmp_path_factory.mktemp("guarded")
    with Served(folder, judged_examples, environ={"JUDGE_TOKEN": TOKEN}) as running:
        yield running


def connect(service: Served) -> socket.socket:
    url = httpx.URL(service.url)
    return socket.create_connection((url.host, url.port), timeout=60)


def test_answers_bind_a_browser_and_pages_hold_no_inline_code(
    api: httpx.Client,
) -> None:
    for path in ("/", "/runs/example-run", "/v1/runs", "/nothing", "/openapi.json"):
        headers = api.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
    page = api.get("/runs/example-run").text
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|style=", page)
    files = re.findall(r'(?:src|href)="(/[^"]+)"', page)
    assert any(name.endswith(".js") for name in files)
    for name in files:
        assert "immutable" in api.get(name).headers["cache-control"]
    is_problem(api.get("/assets/x/../../../pyproject.toml"), 404)
    is_problem(api.get(files[0].rpartition("/")[0] + "/..%2F__init__.py"), 404)


def test_head_answers_like_get_on_every_route(api: httpx.Client) -> None:
    """Also where GET is refused: the status and the headers are those of GET."""
    queries = {"id": "ex-015", "q": "effusion", "reader": "Anna"}
    described = api.get("/openapi.json").json()["paths"]
    paths = [path for path, methods in described.items() if "get" in methods]
    assert len(paths) > 12
    page = api.get("/runs/example-run").text
    assets = re.findall(r'(?:src|href)="(/assets/[^"]+)"', page)
    assert len(assets) == 2
    pages = ["/", "/runs/example-run", "/compare", "/read?run=example-run"]
    for path in [*paths, *pages, *assets, "/openapi.json", "/nothing"]:
        address = path.replace("{run}", "example-run").replace("{id}", "nothing")
        given = {} if "?" in address else {"params": queries}
        head, got = api.head(address, **given), api.get(address, **given)
        assert head.content == b""
        assert (address, head.status_code) == (address, got.status_code)
        for name in ("content-type", "content-length", "content-security-policy"):
            assert head.headers.get(name) == got.headers.get(name), (address, name)
    is_problem(api.post("/"), 405)


def test_only_the_names_of_this_machine_are_answered(api: httpx.Client) -> None:
    for host in ("evil.example:80", "127.0.0.1.evil.example", ""):
        is_problem(api.get("/v1/runs", headers={"Host": host}), 421)
    for host in ("localhost:1", "127.0.0.1", "[::1]:8", "judge.localhost"):
        assert api.get("/v1/runs", headers={"Host": host}).status_code == 200


def test_another_site_changes_nothing(shared_service: Served) -> None:
    api = shared_service.client
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"},
    ):
        is_problem(api.post(REVIEWS_AT, json=COMMENT, headers=headers), 403)
        if "Sec-Fetch-Site" in headers:  # a picture on any page could ask for it
            is_problem(api.get("/v1/comparison?run=x", headers=headers), 403)
        assert api.get("/v1/runs", headers=headers).status_code == 200
    headers = {"Origin": shared_service.url, "Sec-Fetch-Site": "same-origin"}
    assert api.post(REVIEWS_AT, json=COMMENT, headers=headers).status_code == 201


def test_without_the_token_nothing_is_answered(guarded: Served) -> None:
    api = guarded.client
    for path in ("/v1/runs", "/openapi.json", "/v1/nothing"):
        is_problem(api.get(path), 401)
    is_problem(api.post(REVIEWS_AT, json=COMMENT), 401)
    page = api.get("/runs/example-run")
    assert page.status_code == 401
    assert "example-run" not in page.text
    for wrong in ("x", TOKEN + "x", TOKEN[:-1], "\u20ac"):
        header = {b"Authorization": f"Bearer {wrong}".encode()}
        is_problem(api.get("/v1/runs", headers=header), 401)
        assert api.get("/", params={"token": wrong}).status_code == 401
    assert api.post(REVIEWS_AT, json=COMMENT, headers=BEARER).status_code == 201


def test_a_browser_gets_a_cookie_that_holds_no_token(guarded: Served) -> None:
    with httpx.Client(base_url=guarded.url) as browser:
        answer = browser.get("/", params={"token": TOKEN, "study": "a"})
        assert answer.status_code == 303
        assert answer.headers["location"] == "/?study=a"
        answer = browser.get(f"{guarded.url}//evil.example/", params={"token": TOKEN})
        assert answer.headers["location"] == "/evil.example/"
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert TOKEN not in cookie
        assert browser.get("/v1/runs").status_code == 200
        # The cookie alone does not let another page act.
        is_problem(browser.post(REVIEWS_AT, json=COMMENT), 403)
        own, other = {"Origin": guarded.url}, {"Origin": "https://evil.example"}
        assert browser.post(REVIEWS_AT, json=COMMENT, headers=own).status_code == 201
        is_problem(browser.post(REVIEWS_AT, json=COMMENT, headers=other), 403)


def test_two_services_of_one_host_do_not_share_a_cookie(
    guarded: Served, tmp_path: Path
) -> None:
    with Served(tmp_path, "--token", "other") as other, httpx.Client() as browser:
        for service, token in ((guarded, TOKEN), (other, "other")):
            assert (
                browser.get(f"{service.url}/", params={"token": token}).status_code
                == 303
            )
        assert len(browser.cookies) == 2
        for service in (guarded, other):
            assert browser.get(f"{service.url}/v1/runs").status_code == 200


def test_a_body_that_is_too_large_is_refused(api: httpx.Client) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"comment": "'
        for _ in range(5):
            yield b"x" * 2**20
        yield b'"}'

    headers = {"Content-Type": "application/json"}
    is_problem(api.post(REVIEWS_AT, content=endless(), headers=headers), 413)


def test_an_upload_that_is_not_taken_leaves_nothing(shared_service: Served) -> None:
    jobs = shared_service.folder / "judge-runs" / ".jobs"
    before = set(jobs.glob("*"))
    data, files = {"rubric": "green"}, {"preds": ("p.json", b" " * 5 * 2**20)}
    is_problem(shared_service.client.post("/v1/runs", data=data, files=files), 413)
    assert set(jobs.glob("*")) <= before


def test_a_crowd_is_refused_and_the_service_goes_on(guarded: Served) -> None:
    for sent in (
        b"",
        b"GET",
        b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"\x00" * 100,
    ):
        with connect(guarded) as connection:
            connection.sendall(sent)

    def asked() -> int:
        return httpx.get(
            f"{guarded.url}/v1/rubrics", headers=BEARER, timeout=60
        ).status_code

    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(connect(guarded)).sendall(b"GET / HT")
        assert until(lambda: asked() == 503)
    assert until(lambda: asked() == 200)
