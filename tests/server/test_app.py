import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from serving import HELLO, client, frames
from untemplate.testing import ScriptedEngine

CHAT = "/v1/chat/completions"


def error_of(response, status: int) -> dict:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "type", "param", "code"}
    assert "\n" not in body["error"]["message"]
    return body["error"]


def test_an_answer_in_one_piece():
    response = client([b"Hel", b"lo"]).post(CHAT, json=HELLO)
    assert response.status_code == 200
    answer = response.json()
    assert answer["id"].startswith("chatcmpl-")
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "scripted"
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "Hello"}
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["completion_tokens"] == 2


def test_a_stream():
    response = client([b"Hel", b"lo"]).post(CHAT, json={**HELLO, "stream": True})
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"
    first, *news, last, done = frames(response.text)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": None}
    assert "".join(c["choices"][0]["delta"]["content"] for c in news) == "Hello"
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["choices"][0]["delta"] == {}
    assert done == "[DONE]"
    assert len({c["id"] for c in (first, *news, last)}) == 1
    assert not any("usage" in c for c in (first, *news, last))


def test_usage_comes_only_if_asked_for():
    options = {"stream": True, "stream_options": {"include_usage": True}}
    response = client([b"Hi"]).post(CHAT, json={**HELLO, **options})
    *_, usage, done = frames(response.text)
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 1
    assert done == "[DONE]"


def test_the_token_limit_ends_with_length():
    body = {**HELLO, "max_tokens": 1}
    answer = client([b"Hel", b"lo"]).post(CHAT, json=body).json()
    assert answer["choices"][0]["message"]["content"] == "Hel"
    assert answer["choices"][0]["finish_reason"] == "length"


def test_stop_strings_are_not_part_of_the_answer():
    body = {**HELLO, "stop": ["lo w"]}
    answer = client([b"Hello", b" world"]).post(CHAT, json=body).json()
    assert answer["choices"][0]["message"]["content"] == "Hel"


def test_models_and_health():
    http = client()
    assert http.get("/health").json() == {"status": "ok"}
    (card,) = http.get("/v1/models").json()["data"]
    assert card["id"] == "scripted"
    assert card["object"] == "model"
    assert card["meta"] == {"context_tokens": 4096}
    assert http.get("/v1/models/scripted").json() == card
    assert error_of(http.get("/v1/models/other"), 404)["code"] == "model_not_found"


def test_addresses_without_version():
    http = client([b"Hi"])
    assert http.post("/chat/completions", json=HELLO).status_code == 200
    assert http.get("/models").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v2/chat", 404, "unknown_url"),
        ("GET", CHAT, 405, "method_not_allowed"),
        ("POST", "/v1/models", 405, "method_not_allowed"),
    ],
)
def test_wrong_addresses_and_methods(method, path, status, code):
    assert error_of(client().request(method, path), status)["code"] == code


@pytest.mark.parametrize(
    ("body", "status", "place"),
    [
        (b"{", 400, None),
        (b"[]", 400, "body"),
        (b'{"messages": 3}', 400, "messages"),
        (json.dumps({**HELLO, "model": "gpt-9"}).encode(), 404, "model"),
        (json.dumps({**HELLO, "tools": "all"}).encode(), 400, "tools"),
        (json.dumps({**HELLO, "temperature": -1}).encode(), 400, "temperature"),
        (json.dumps({**HELLO, "n": 3}).encode(), 400, "n"),
        (json.dumps({**HELLO, "chat_template": "{{ 1 }}"}).encode(), 400, "chat_template"),
        (b'{"messages": ' + b"[" * 5000, 400, "body"),
    ],
)
def test_bad_requests_name_the_place_and_the_server_goes_on(body, status, place):
    http = client([b"Hi"])
    error = error_of(http.post(CHAT, content=body), status)
    assert error["param"] == place
    assert error["type"] == "invalid_request_error"
    assert http.post(CHAT, json=HELLO).status_code == 200


def test_a_body_of_20_mb_is_refused():
    http = client([b"Hi"])
    body = json.dumps({"messages": [{"role": "user", "content": "x" * (20 << 20)}]}).encode()
    assert error_of(http.post(CHAT, content=body), 413)["code"] == "request_too_large"
    assert http.post(CHAT, json=HELLO).status_code == 200


def test_a_big_body_that_fits_is_read():
    body = {"messages": [{"role": "user", "content": "x" * (1 << 20)}]}
    assert client([b"Hi"]).post(CHAT, json=body).status_code == 200


def test_an_engine_that_fails_is_answered():
    def broken():
        yield b"Hel"
        raise OSError("secret")

    http = client(broken, broken, [b"Hi"])
    error = error_of(http.post(CHAT, json=HELLO), 500)
    assert error["type"] == "server_error"
    assert "secret" not in error["message"]
    *_, told, done = frames(http.post(CHAT, json={**HELLO, "stream": True}).text)
    assert told["error"]["type"] == "server_error"
    assert "secret" not in told["error"]["message"]
    assert done == "[DONE]"
    assert http.post(CHAT, json=HELLO).status_code == 200


def test_an_engine_without_a_reply_says_so_before_the_stream_starts():
    error = error_of(client().post(CHAT, json={**HELLO, "stream": True}), 500)
    assert error["code"] == "engine_error"


def test_a_silent_stream_pings():
    def slow():
        yield b"Hel"
        threading.Event().wait(0.2)
        yield b"lo"

    response = client(slow, ping_s=0.05).post(CHAT, json={**HELLO, "stream": True})
    told = frames(response.text)
    assert told.count(": ping") >= 2
    texts = [c["choices"][0]["delta"].get("content") for c in told if isinstance(c, dict)]
    assert "".join(t for t in texts if t) == "Hello"


def test_a_stream_that_starts_late_pings_before_it():
    class LateEngine(ScriptedEngine):
        def generate(self, turn, **options):
            threading.Event().wait(0.2)
            yield from super().generate(turn, **options)

    response = client(engine=LateEngine(), ping_s=0.05).post(CHAT, json={**HELLO, "stream": True})
    assert response.status_code == 200
    first, *pings, told, done = frames(response.text)
    assert first["choices"][0]["delta"]["role"] == "assistant"
    assert set(pings) == {": ping"}
    assert told["error"]["code"] == "engine_error"
    assert done == "[DONE]"


def test_a_full_queue_is_a_429():
    started, go_on = threading.Event(), threading.Event()

    def slow():
        started.set()
        assert go_on.wait(10)
        yield b"Hi"

    http = client(slow, [b"Hi"], requests=1, retry_after_s=3)
    with http, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(http.post, CHAT, json=HELLO)
        assert started.wait(10)
        refused = http.post(CHAT, json=HELLO)
        go_on.set()
        assert error_of(refused, 429)["type"] == "rate_limit_error"
        assert refused.headers["retry-after"] == "3"
        assert waiting.result().status_code == 200
        assert http.post(CHAT, json=HELLO).status_code == 200


def test_every_answer_has_a_request_id(caplog):
    caplog.set_level(logging.INFO, "untemplate.server")
    http = client()
    given = http.get("/health", headers={"x-request-id": "mine-1"})
    assert given.headers["x-request-id"] == "mine-1"
    assert "GET /health 200" in caplog.text
    assert "mine-1" in caplog.text
    made = http.get("/nowhere", headers={"x-request-id": "two words"})
    assert made.headers["x-request-id"].startswith("req_")


def test_pages_of_others_are_refused():
    http = client([b"Hi"])
    for origin in ("https://example.com", "http://127.0.0.1.example.com", "null"):
        error = error_of(http.post(CHAT, json=HELLO, headers={"origin": origin}), 403)
        assert error["param"] == "Origin"
    local = http.post(CHAT, json=HELLO, headers={"origin": "http://localhost:3000"})
    assert local.status_code == 200
    assert local.headers["access-control-allow-origin"] == "http://localhost:3000"
    preflight = http.options(
        CHAT,
        headers={
            "origin": "http://localhost:3000",
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type",
        },
    )
    assert preflight.status_code == 200
