"""The main job, end to end: the embedded model behind the server, a stock client before it."""

import json
import threading
import time

import jsonschema_rs
import openai
import pytest
import uvicorn

pytestmark = pytest.mark.model


def tool(name, description, **properties):
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


TOOLS = [
    tool(
        "send_note",
        "Send a note, in any script, with “quotes” if need be",
        text={"type": "string", "maxLength": 80},
        priority={"type": "integer", "minimum": 1, "maximum": 5},
    ),
    tool(
        "book_table",
        "Book a table in a restaurant",
        when={
            "type": "object",
            "properties": {
                "day": {"enum": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]},
                "hour": {"type": "integer", "minimum": 0, "maximum": 23},
            },
            "required": ["day", "hour"],
            "additionalProperties": False,
        },
        guests={"type": "integer", "minimum": 1, "maximum": 12},
    ),
    tool(
        "search_books",
        "Search books by their words",
        words={"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 4},
        language={"enum": ["de", "en", "日本語"]},
    ),
]
PARAMETERS = {t["function"]["name"]: t["function"]["parameters"] for t in TOOLS}
ASK = [
    {"role": "user", "content": 'Note "Größe 東京" for Anna, a table for two on Friday, or a book?'}
]


@pytest.fixture(scope="module")
def served(model):
    """The engine, and the address of a server that runs it."""
    from untemplate.engines.llama.engine import LlamaEngine
    from untemplate.server import create_app
    from untemplate.turn import ChatTemplate

    engine = LlamaEngine(model, context_tokens=2048, sequences=2)
    app = create_app(engine, ChatTemplate.open(model.path), model="embedded")
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield engine, f"http://127.0.0.1:{port}/v1"
    server.should_exit = True
    thread.join()


@pytest.fixture
def client(served):
    with openai.OpenAI(base_url=served[1], api_key="none", max_retries=0, timeout=60) as client:
        yield client


def stream(client, **options):
    """Calls by index, finish reason, extension, and when each thing came, for one request."""
    calls, reason, extension = {}, None, {}
    first_delta_at, chunks = None, 0
    request = {"model": "embedded", "messages": ASK, "tools": TOOLS, "stream": True, **options}
    for chunk in client.chat.completions.create(**request):
        chunks += 1
        for choice in chunk.choices:
            reason = choice.finish_reason or reason
            extension = (choice.model_extra or {}).get("untemplate") or extension
            for delta in choice.delta.tool_calls or []:
                call = calls.setdefault(delta.index, {"name": "", "arguments": "", "id": ""})
                call["id"] += delta.id or ""
                call["name"] += delta.function.name or ""
                if delta.function.arguments and first_delta_at is None:
                    first_delta_at = chunks
                call["arguments"] += delta.function.arguments or ""
    return calls, reason, extension, (first_delta_at, chunks)


def check_seeds(client, seeds):
    """Every call is whole and valid, or the token limit cut it and it says so."""
    valid = 0
    for seed in seeds:
        calls, reason, _, _ = stream(
            client, tool_choice="required", temperature=1.5, max_tokens=400, seed=seed
        )
        assert calls or reason == "length"
        for index, call in calls.items():
            is_last = index == len(calls) - 1
            if reason == "length" and is_last:
                continue
            arguments = json.loads(call["arguments"])
            assert jsonschema_rs.is_valid(PARAMETERS[call["name"]], arguments), call
        valid += reason == "tool_calls"
    return valid


def test_calls_drawn_at_high_temperature_are_well_formed(client):
    assert check_seeds(client, range(1, 11)) >= 9


@pytest.mark.laws
def test_a_hundred_seeds_at_high_temperature(client):
    assert check_seeds(client, range(1, 101)) >= 95


def test_arguments_stream_before_the_call_is_complete(client):
    calls, reason, _, (first, chunks) = stream(
        client, tool_choice="required", parallel_tool_calls=False, temperature=0, max_tokens=400
    )
    assert reason == "tool_calls"
    assert len(calls) == 1
    assert first < chunks - 4


def test_a_call_that_the_limit_cuts_is_marked_and_its_arguments_close(client):
    named = {"type": "function", "function": {"name": "send_note"}}
    answer = client.chat.completions.create(
        model="embedded", messages=ASK, tools=TOOLS, tool_choice=named, temperature=0, max_tokens=18
    )
    choice = answer.choices[0]
    (call,) = choice.message.tool_calls
    extension = call.model_extra["untemplate"]
    assert choice.finish_reason == "length"
    assert extension["state"] == "cut"
    assert call.function.name == "send_note"
    json.loads(call.function.arguments + extension["closing"])


def test_our_share_of_the_time_is_small(served, model):
    from untemplate.engines.events import Finished
    from untemplate.engines.sampling import Sampling
    from untemplate.message import Tool, ToolChoice
    from untemplate.turn import ChatTemplate

    engine, template = served[0], ChatTemplate.open(model.path)
    text = {"type": "string", "minLength": 500, "maxLength": 2000}
    # A name of its own, so that nothing of these tools is compiled yet.
    parameters = {"type": "object", "properties": {"text": text}, "required": ["text"]}
    tools = [Tool(f"write_{time.time_ns()}", "Write a long text", parameters)]
    shares = []
    for _ in range(2):
        turn = template.turn(ASK, tools=tools, tool_choice=ToolChoice("required"))
        events = engine.generate(turn, max_tokens=200, sampling=Sampling(temperature=0.0))
        (finished,) = [e for e in events if isinstance(e, Finished)]
        assert finished.usage.completion_tokens > 150
        shares.append(finished.timings.overhead)
    assert shares[0] <= 0.15
    assert shares[1] <= 0.05


def test_a_client_that_goes_away_stops_the_generation(served, client):
    engine = served[0]
    with client.chat.completions.create(
        model="embedded",
        messages=[{"role": "user", "content": "Count from one to a thousand in words."}],
        max_tokens=1000,
        stream=True,
    ) as answer:
        for _ in zip(answer, range(5), strict=False):
            pass
    time.sleep(0.3)
    generated = engine.generated_tokens
    time.sleep(0.3)
    assert engine.generated_tokens - generated <= 1


BAD = [
    ({"model": "gpt-9"}, 404, "gpt-9"),
    ({"tools": {"a": 1}}, 400, "tools"),
    ({"tools": [tool("f", "", x={"type": "strang"})]}, 400, "tool f"),
    ({"tools": [tool("f", "", x={"$ref": "#/$defs/nowhere"})]}, 400, "tool f"),
    ({"tool_choice": {"type": "function", "function": {"name": "nothing"}}}, 400, "nothing"),
    ({"messages": []}, 400, "messages"),
    ({"temperature": -1}, 400, "temperature"),
]


@pytest.mark.parametrize(("change", "status", "word"), BAD, ids=range(len(BAD)))
def test_bad_input_is_a_4xx_that_names_the_place_and_the_server_keeps_serving(
    client, change, status, word
):
    request = {"model": "embedded", "messages": ASK, "tools": TOOLS, "max_tokens": 1}
    with pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(**request | change)
    assert caught.value.status_code == status
    error = caught.value.response.json()["error"]
    assert word in error["message"] + str(error["param"])
    assert client.chat.completions.create(**request).choices


def test_a_body_of_20_megabytes_is_refused(client):
    request = {"model": "embedded", "messages": [{"role": "user", "content": "x" * 20_000_000}]}
    with pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(**request)
    assert caught.value.status_code == 413
