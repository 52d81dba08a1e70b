"""Who may ask for what, from where, and how much of it."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from served import PAIR, Served, is_problem

TOKEN = "a-long-token-éß"


@pytest.fixture
def api(shared_service: Served) -> httpx.Client:
    return shared_service.client


def test_every_answer_carries_the_headers_that_bind_a_browser(api: httpx.Client) -> None:
    for path in ("/", "/runs/examples", "/v1/runs", "/nothing", "/openapi.json"):
        headers = api.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_pages_hold_no_inline_code_and_their_files_are_there(api: httpx.Client) -> None:
    page = api.get("/runs/examples")
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


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_another_host_name_is_refused(api: httpx.Client, host: str) -> None:
    is_problem(api.get("/v1/runs", headers={"Host": host}), 421)


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8", "judge.localhost"])
def test_the_names_of_this_machine_are_answered(api: httpx.Client, host: str) -> None:
    assert api.get("/v1/runs", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"},
    ],
)
def test_another_site_changes_nothing(shared_service: Served, headers: dict[str, str]) -> None:
    api = shared_service.client
    is_problem(api.post("/v1/annotations", json=PAIR, headers=headers), 403)
    is_problem(api.post("/v1/runs/examples/reviews", json={}, headers=headers), 403)
    if "Sec-Fetch-Site" in headers:  # a picture on any page could ask for it
        is_problem(api.get("/v1/comparison?run=examples", headers=headers), 403)
    assert api.get("/v1/runs", headers=headers).status_code == 200


def test_the_services_own_pages_may(shared_service: Served) -> None:
    headers = {"Origin": shared_service.url, "Sec-Fetch-Site": "same-origin"}
    answer = shared_service.client.post("/v1/annotations", json=PAIR, headers=headers)
    assert answer.status_code == 200


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, finished: Path) -> Served:
    folder = tmp_path_factory.mktemp("guarded")
    with Served(folder, finished, "--token", TOKEN) as running:
        yield running  # type: ignore[misc]


class TestToken:
    def bearer(self, token: str) -> dict[bytes, bytes]:
        return {b"Authorization": f"Bearer {token}".encode()}

    def test_nothing_is_answered_without_it(self, guarded: Served) -> None:
        api = guarded.client
        for path in ("/v1/runs", "/openapi.json", "/v1/nothing"):
            is_problem(api.get(path), 401)
        is_problem(api.post("/v1/annotations", json=PAIR), 401)
        page = api.get("/runs/examples")
        assert page.status_code == 401
        assert "examples" not in page.text
        for wrong in ("x", TOKEN + "x", TOKEN[:-1], "\u20ac"):
            is_problem(api.get("/v1/runs", headers=self.bearer(wrong)), 401)
            assert api.get("/", params={"token": wrong}).status_code == 401

    def test_a_header_proves_it(self, guarded: Served) -> None:
        api = guarded.client
        assert api.get("/v1/runs", headers=self.bearer(TOKEN)).status_code == 200
        headers = self.bearer(TOKEN)
        assert api.post("/v1/annotations", json=PAIR, headers=headers).status_code == 200

    def test_a_browser_gets_a_cookie_that_holds_no_token(self, guarded: Served) -> None:
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
            own = {"Origin": guarded.url}
            assert browser.post("/v1/annotations", json=PAIR, headers=own).status_code == 200
            other = {"Origin": "https://evil.example"}
            is_problem(browser.post("/v1/annotations", json=PAIR, headers=other), 403)

    def test_the_way_to_the_cookie_leads_to_no_other_site(self, guarded: Served) -> None:
        host, port = guarded.url.removeprefix("http://").split(":")
        for path in ("//evil.example/", "/\\evil.example/", "///evil.example"):
            connection = http.client.HTTPConnection(host, int(port))
            connection.request("GET", f"{path}?token={quote(TOKEN)}")
            answer = connection.getresponse()
            assert answer.status == 303
            location = answer.getheader("Location", "")
            assert location.startswith("/evil.example")
            connection.close()

    def test_another_address_gets_one_made_and_says_so(self, tmp_path: Path) -> None:
        with Served(tmp_path, "--host", "0.0.0.0") as service:
            assert "not encrypted" in service.said
            token = re.search(r"\?token=(\S{40,})", service.said)
            assert token
            port = service.url.rpartition(":")[2]
            local = httpx.Client(base_url=f"http://127.0.0.1:{port}")
            is_problem(local.get("/v1/runs"), 401)
            headers = {"Authorization": f"Bearer {token[1]}"}
            assert local.get("/v1/runs", headers=headers).status_code == 200
            local.close()

    def test_the_environment_gives_it_too(self, tmp_path: Path) -> None:
        with Served(tmp_path, environ={"JUDGE_TOKEN": "from-outside"}) as service:
            is_problem(service.client.get("/v1/runs"), 401)
            headers = {"Authorization": "Bearer from-outside"}
            assert service.client.get("/v1/runs", headers=headers).status_code == 200


class TestSize:
    def test_a_huge_body_is_refused_before_it_is_read(self, shared_service: Served) -> None:
        address = shared_service.url.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(address[0], int(address[1]))
        connection.putrequest("POST", "/v1/annotations")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(10**12))
        connection.endheaders()
        answer = connection.getresponse()
        assert answer.status == 413
        connection.close()

    def test_a_body_of_unsaid_length_is_cut_off(self, shared_service: Served) -> None:
        def endless() -> object:
            yield b'{"reference": "'
            for _ in range(5):
                yield b"x" * 2**20
            yield b'"}'

        answer = shared_service.client.post(
            "/v1/annotations",
            content=endless(),  # type: ignore[arg-type]
            headers={"Content-Type": "application/json"},
        )
        is_problem(answer, 413)

    def test_an_upload_over_the_limit_is_refused(self, shared_service: Served) -> None:
        files = {"preds": ("p.json", b" " * 5 * 2**20)}
        answer = shared_service.client.post("/v1/runs", data={"rubric": "green"}, files=files)
        is_problem(answer, 413)

    def test_a_gzip_bomb_is_refused_and_leaves_nothing(self, shared_service: Served) -> None:
        bomb = gzip.compress(b" " * 64 * 2**20)
        assert len(bomb) < 2**20
        files = {"preds": ("p.json.gz", bomb)}
        jobs = shared_service.folder / "judge-runs" / ".jobs"
        before = set(jobs.glob("*"))  # other tests start runs in this service too
        answer = shared_service.client.post("/v1/runs", data={"rubric": "green"}, files=files)
        assert "unpacks" in is_problem(answer, 413)
        assert set(jobs.glob("*")) <= before

    @pytest.mark.parametrize("name", ["p.exe", "p", "p.pkl", "p.json.zip", ".json", "", "p.json/x"])
    def test_only_files_of_known_kinds_are_taken(self, shared_service: Served, name: str) -> None:
        files = {"preds": (name, b"{}")}
        answer = shared_service.client.post("/v1/runs", data={"rubric": "green"}, files=files)
        assert answer.status_code in (415, 422)
        is_problem(answer, answer.status_code)

    def test_a_broken_file_is_refused(self, shared_service: Served) -> None:
        for name, content in (("p.json.gz", b"\x1f\x8bxx"), ("p.parquet", b"PAR1xxxx")):
            files = {"preds": (name, content)}
            answer = shared_service.client.post("/v1/runs", data={"rubric": "green"}, files=files)
            assert "broken" in is_problem(answer, 415)


def test_a_report_without_end_does_not_hold_up_the_pages(shared_service: Served) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(shared_service.annotate, candidate="effusion " * 40_000)
        pages = 0
        while not answer.done():
            began = time.monotonic()
            assert shared_service.client.get("/v1/runs/examples/studies").status_code == 200
            assert time.monotonic() - began < 5.0
            pages += 1
    assert answer.result().json()["outcome"] == "annotated"
    assert pages > 3


def test_a_study_id_is_any_text_and_never_a_path(tmp_path: Path) -> None:
    ids = ["../../etc/passwd", "a/b?c#d&e=f", "\u202eabc", "<b>", "%2e%2e%2f", "x" * 3000, "été\n𝄞"]
    files = {
        side: (
            f"{side}.json",
            json.dumps({study_id: {key: "Lungs are clear."} for study_id in ids}).encode(),
        )
        for side, key in (("preds", "model_prediction"), ("refs", "report"))
    }
    with Served(tmp_path) as service:
        name = service.client.post("/v1/runs", data={"rubric": "green"}, files=files).json()["id"]
        service.until_state(name, "finished", "failed")
        for study_id in ids:
            answer = service.client.get(f"/v1/runs/{name}/study", params={"id": study_id})
            assert answer.status_code == 200, answer.text
            assert answer.json()["view"]["study_id"] == study_id
            said = {"study_id": study_id, "reader": "anna", "verdict": "comment", "comment": "x"}
            assert service.client.post(f"/v1/runs/{name}/reviews", json=said).status_code == 201
        found = service.client.get(f"/v1/runs/{name}/reviews").json()["events"]
        assert [event["study_id"] for event in found] == ids


def test_half_a_request_and_nonsense_do_not_stop_the_service(shared_service: Served) -> None:
    host, port = shared_service.url.removeprefix("http://").split(":")
    for sent in (b"", b"GET", b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", b"\x00" * 100):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(sent)
    assert shared_service.client.get("/v1/runs").status_code == 200
