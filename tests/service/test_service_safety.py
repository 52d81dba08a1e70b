"""Who may ask for what, from where, and how much of it."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from served import PAIR, Served, is_problem, until

TOKEN = "a-long-token-éß"
BEARER = {b"Authorization": f"Bearer {TOKEN}".encode()}


@pytest.fixture
def api(shared_service: Served) -> httpx.Client:
    return shared_service.client


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, judged_examples: Path) -> Iterator[Served]:
    """A service with a token, which the environment gives it."""
    folder = tmp_path_factory.mktemp("guarded")
    with Served(folder, judged_examples, environ={"JUDGE_TOKEN": TOKEN}) as running:
        yield running


def connect(service: Served) -> socket.socket:
    url = httpx.URL(service.url)
    return socket.create_connection((url.host, url.port), timeout=60)


def test_every_answer_carries_the_headers_that_bind_a_browser(api: httpx.Client) -> None:
    for path in ("/", "/runs/example-run", "/v1/runs", "/nothing", "/openapi.json"):
        headers = api.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_pages_hold_no_inline_code_and_their_files_are_there(api: httpx.Client) -> None:
    page = api.get("/runs/example-run")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|style=", page.text)
    files = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
    assert any(name.endswith(".js") for name in files)
    for name in files:
        answer = api.get(name)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
    is_problem(api.get("/runs/nothing"), 404)
    is_problem(api.get("/assets/x/../../../pyproject.toml"), 404)
    is_problem(api.get(files[0].rpartition("/")[0] + "/..%2F__init__.py"), 404)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *((name, 421) for name in ("evil.example:80", "127.0.0.1.evil.example", "")),
        *((name, 200) for name in ("localhost:1", "127.0.0.1", "[::1]:8", "judge.localhost")),
    ],
)
def test_only_the_names_of_this_machine_are_answered(
    api: httpx.Client, host: str, status: int
) -> None:
    assert api.get("/v1/runs", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"},
    ],
)
def test_another_site_changes_nothing(api: httpx.Client, headers: dict[str, str]) -> None:
    is_problem(api.post("/v1/annotations", json=PAIR, headers=headers), 403)
    is_problem(api.post("/v1/runs/example-run/reviews", json={}, headers=headers), 403)
    if "Sec-Fetch-Site" in headers:  # a picture on any page could ask for it
        is_problem(api.get("/v1/comparison?run=example-run", headers=headers), 403)
    assert api.get("/v1/runs", headers=headers).status_code == 200


def test_the_services_own_pages_may(shared_service: Served) -> None:
    headers = {"Origin": shared_service.url, "Sec-Fetch-Site": "same-origin"}
    answer = shared_service.client.post("/v1/annotations", json=PAIR, headers=headers)
    assert answer.status_code == 200


def test_without_the_token_nothing_is_answered(guarded: Served) -> None:
    api = guarded.client
    for path in ("/v1/runs", "/openapi.json", "/v1/nothing"):
        is_problem(api.get(path), 401)
    is_problem(api.post("/v1/annotations", json=PAIR), 401)
    page = api.get("/runs/example-run")
    assert page.status_code == 401
    assert "example-run" not in page.text
    for wrong in ("x", TOKEN + "x", TOKEN[:-1], "\u20ac"):
        header = {b"Authorization": f"Bearer {wrong}".encode()}
        is_problem(api.get("/v1/runs", headers=header), 401)
        assert api.get("/", params={"token": wrong}).status_code == 401
    assert api.post("/v1/annotations", json=PAIR, headers=BEARER).status_code == 200


def test_a_browser_gets_a_cookie_that_holds_no_token(guarded: Served) -> None:
    with httpx.Client(base_url=guarded.url) as browser:
        answer = browser.get("/", params={"token": TOKEN, "study": "a"})
        assert answer.status_code == 303
        assert answer.headers["location"] == "/?study=a"
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert TOKEN not in cookie
        assert browser.get("/v1/runs").status_code == 200
        # The cookie alone does not let another page act.
        is_problem(browser.post("/v1/annotations", json=PAIR), 403)
        own, other = {"Origin": guarded.url}, {"Origin": "https://evil.example"}
        assert browser.post("/v1/annotations", json=PAIR, headers=own).status_code == 200
        is_problem(browser.post("/v1/annotations", json=PAIR, headers=other), 403)


def test_the_way_to_the_cookie_leads_to_no_other_site(guarded: Served) -> None:
    url = httpx.URL(guarded.url)
    for path in ("//evil.example/", "/\\evil.example/", "///evil.example"):
        connection = http.client.HTTPConnection(url.host, url.port)
        connection.request("GET", f"{path}?token={quote(TOKEN)}")
        answer = connection.getresponse()
        assert answer.status == 303
        assert answer.getheader("Location", "").startswith("/evil.example")
        connection.close()


def test_another_address_gets_a_token_made_and_says_so(tmp_path: Path) -> None:
    with Served(tmp_path, "--host", "0.0.0.0") as service:
        assert "not encrypted" in service.said
        token = re.search(r"\?token=(\S{40,})", service.said)
        assert token
        local = f"http://127.0.0.1:{service.url.rpartition(':')[2]}/v1/runs"
        is_problem(httpx.get(local), 401)
        headers = {"Authorization": f"Bearer {token[1]}"}
        assert httpx.get(local, headers=headers).status_code == 200


def test_a_huge_body_is_refused_before_it_is_read(shared_service: Served) -> None:
    url = httpx.URL(shared_service.url)
    connection = http.client.HTTPConnection(url.host, url.port)
    connection.putrequest("POST", "/v1/annotations")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(10**12))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_a_body_of_unsaid_length_is_cut_off(api: httpx.Client) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"reference": "'
        for _ in range(5):
            yield b"x" * 2**20
        yield b'"}'

    headers = {"Content-Type": "application/json"}
    is_problem(api.post("/v1/annotations", content=endless(), headers=headers), 413)


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("p.json", b" " * 5 * 2**20, 413),
        ("p.json.gz", gzip.compress(b" " * 64 * 2**20), 413),
        ("p.json.gz", b"\x1f\x8bxx", 415),
        ("p.parquet", b"PAR1xxxx", 415),
        ("p.exe", b"{}", 415),
        ("p", b"{}", 415),
        ("p.json.zip", b"{}", 415),
        (".json", b"{}", 415),
        ("", b"{}", 422),
    ],
)
def test_an_upload_that_is_not_taken_leaves_nothing(
    shared_service: Served, name: str, content: bytes, status: int
) -> None:
    jobs = shared_service.folder / "judge-runs" / ".jobs"
    before = set(jobs.glob("*"))
    for address in ("/v1/runs", "/v1/runs/check"):
        data, files = {"rubric": "green"}, {"preds": (name, content)}
        is_problem(shared_service.client.post(address, data=data, files=files), status)
    assert set(jobs.glob("*")) <= before


def test_a_head_that_is_too_large_is_refused(shared_service: Served) -> None:
    for line in (b"x-a: " + b"a" * 1000 + b"\r\n", b"a" * 1000):
        sent = 0
        with connect(shared_service) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nx-b: ")
            try:
                while sent < 2**26:
                    connection.sendall(line)
                    sent += len(line)
            except ConnectionError:
                pass
        assert sent < 2**23  # what the system's own buffers take
    assert shared_service.client.get("/v1/runs").status_code == 200


def test_a_crowd_is_refused_and_the_service_goes_on(guarded: Served) -> None:
    """Half a request, nonsense, and more connections than are served at a time."""
    for sent in (b"", b"GET", b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", b"\x00" * 100):
        with connect(guarded) as connection:
            connection.sendall(sent)

    def asked() -> int:
        return httpx.get(f"{guarded.url}/v1/rubrics", headers=BEARER, timeout=60).status_code

    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(connect(guarded)).sendall(b"GET / HT")
        assert until(lambda: asked() == 503)
    assert until(lambda: asked() == 200)


def test_a_long_report_does_not_hold_up_the_pages(shared_service: Served) -> None:
    with ThreadPoolExecutor(1) as pool:
        long = "effusion " * 11_000
        answer = pool.submit(shared_service.annotate, reference=long, candidate=long)
        pages = 0
        while not answer.done():
            assert shared_service.client.get("/v1/runs/example-run/studies").status_code == 200
            pages += 1
            time.sleep(0.02)
    assert answer.result().json()["outcome"] == "annotated"
    assert pages > 3


def test_a_study_id_is_any_text_and_never_a_path(shared_service: Served) -> None:
    ids = ["../../etc/passwd", "a/b?c#d&e=f", "\u202eabc", "<b>", "%2e%2e%2f", "x" * 3000, "été\n𝄞"]
    files = {
        side: (
            f"../..\\{side}<b>.json",
            json.dumps({study_id: {key: "Lungs are clear."} for study_id in ids}).encode(),
        )
        for side, key in (("preds", "model_prediction"), ("refs", "report"))
    }
    api = shared_service.client
    name = api.post("/v1/runs", data={"rubric": "green"}, files=files).json()["id"]
    shared_service.until_state(name, "finished", "failed")
    for study_id in ids:
        answer = api.get(f"/v1/runs/{name}/study", params={"id": study_id})
        assert answer.json()["view"]["study_id"] == study_id
        said = {"study_id": study_id, "reader": "anna", "verdict": "comment", "comment": "x"}
        assert api.post(f"/v1/runs/{name}/reviews", json=said).status_code == 201
    found = api.get(f"/v1/runs/{name}/reviews").json()["events"]
    assert [event["study_id"] for event in found] == ids
    manifest = json.loads(
        (shared_service.folder / "judge-runs" / name / "manifest.json").read_text()
    )
    assert [file["path"] for file in manifest["inputs"]] == ["preds<b>.json", "refs<b>.json"]
