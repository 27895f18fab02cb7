"""The page about the tool loop names tests that exist, and its examples run."""

import asyncio
import json
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs/tool-loop.md").read_text(encoding="utf-8")


def test_every_named_test_exists():
    source = "".join(p.read_text(encoding="utf-8") for p in HERE.glob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 30
    missing = [name for name in sorted(named) if f"def {name}(" not in source]
    assert not missing


def test_every_row_of_the_comparison_has_a_test():
    rows = [r for r in PAGE.splitlines() if r.startswith("|") and r.count("|") == 10]
    assert len(rows) > 25
    assert [r for r in rows[2:] if "`test_" not in r] == []


def test_the_first_example_runs(monkeypatch, capsys):
    import untemplate.loop
    from tool_loop import once

    model = once(("weather", {"city": "Oslo, Norway"}))
    monkeypatch.setattr(untemplate.loop, "RemoteModel", lambda url: model)
    example = re.search(r"```python\n(import asyncio.*?)```", PAGE, re.DOTALL)[1]
    exec(compile(example, "docs/tool-loop.md", "exec"), {})
    assert capsys.readouterr().out == "answer done\n"
    assert '"degrees":[12]' in str(model.requests[1].messages)


def test_the_example_of_the_readme_runs(monkeypatch, capsys):
    import untemplate.loop
    from tool_loop import once

    readme = (HERE.parents[1] / "README.md").read_text(encoding="utf-8")
    model = once(("stock", {"article": "lamp"}), ("stock", {"article": "sofa"}))
    monkeypatch.setattr(untemplate.loop, "RemoteModel", lambda url: model)
    example = re.search(r"```python\n(import asyncio.*?)```", readme, re.DOTALL)[1]
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("answer done (")
    results = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
    assert results[0] == "3"
    assert "no such article" in results[1]


def test_the_page_lists_every_type_of_error():
    from untemplate.loop import feedback

    types = set(feedback._TYPES.values())
    assert {t for t in types if f"`{t}`" not in PAGE} == set()


def example(beginning):
    return next(e for e in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if beginning in e)


def test_the_example_of_events_runs(capsys):
    from tool_loop import USER, once
    from untemplate.loop import ToolLoop

    names = {"loop": ToolLoop(once(("now", {})), [now]), "messages": USER}
    lines = "".join(f"    {line}\n" for line in example("async with loop.run").splitlines())
    exec(compile(f"async def main():\n{lines}", "docs/tool-loop.md", "exec"), names)
    asyncio.run(names["main"]())
    assert capsys.readouterr().out == "{}now ok\ndone"


@pytest.mark.model
def test_the_example_of_a_model_in_this_process_runs(model_path, library):
    from untemplate.loop import ToolLoop, tool

    code = example("LlamaEngine").replace("model.gguf", str(model_path))
    names = {}
    exec(compile(code, "docs/tool-loop.md", "exec"), names)
    loop = ToolLoop(names["model"], [tool(now, effect="read")], choice="required", max_tokens=40)
    result = asyncio.run(loop.complete([{"role": "user", "content": "What time is it?"}]))
    assert result.steps[0].outcomes[0].text == "noon"
    names["engine"].close()


def test_the_example_of_approvals_runs():
    from tool_loop import complete, once
    from untemplate.loop import ToolLoop, tool

    loop = ToolLoop(once(("now", {})), [tool(now, effect="destructive")])
    names = {"loop": loop, "stored": json.dumps(complete(loop).state), "json": json}
    exec(compile(example("loop.resume"), "docs/tool-loop.md", "exec"), names)
    result = asyncio.run(names["run"].complete())
    assert (result.text, result.steps[0].outcomes[0].text) == ("done", "noon")


def now():
    return "noon"
