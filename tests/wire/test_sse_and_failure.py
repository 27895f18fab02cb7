import json

from untemplate.errors import EngineError, LimitError, RequestError, SchemaError, TemplateError
from untemplate.wire.openai.failure import failure_of
from untemplate.wire.sse import DONE, PING, event


def test_frames():
    assert event(b'{"a":1}') == b'data: {"a":1}\n\n'
    assert DONE == b"data: [DONE]\n\n"
    assert PING.startswith(b":")


def test_an_error_of_ours_names_its_place_in_one_line():
    failure = failure_of(TemplateError("unexpected\nend", place="template line 12"))
    assert failure.status == 400
    assert json.loads(failure.body()) == {
        "error": {
            "message": "template line 12: unexpected end",
            "type": "invalid_request_error",
            "param": "template line 12",
            "code": "template_error",
        }
    }


def test_what_a_caller_can_mend_is_4xx():
    assert failure_of(RequestError("x")).status == 400
    assert failure_of(SchemaError("x")).status == 400
    assert failure_of(LimitError("x")).status == 400
    engine = failure_of(EngineError("out of memory"))
    assert (engine.status, engine.type) == (500, "server_error")
