import random

import pytest

from conversations import conversation, count, forty_turns, tools, torn
from untemplate.budget.compact import compact
from untemplate.budget.plan import FitError, fit
from untemplate.engines.llama.vocabulary import model_vocabulary
from untemplate.errors import TemplateError
from untemplate.turn import ChatTemplate


def forty_exchanges():
    messages = [{"role": "system", "content": "Be brief. " * 20}]
    for number in range(40):
        messages += [
            {"role": "user", "content": f"Question {number}: " + "what of it? " * 8},
            {"role": "assistant", "content": f"Answer {number}. " + "So it is. " * 20},
        ]
    return [*messages, {"role": "user", "content": "Is there an invoice for Anna?"}]


def indexes(place):
    """`messages[3:5]` -> 3, 4."""
    first, _, end = place.removeprefix("messages[").removesuffix("]").partition(":")
    return range(int(first), int(end or int(first) + 1))


def check(plan, messages, given):
    """Whatever the plan: it adds up, fits, and what is gone is named."""
    assert plan.prompt == count(plan.messages, plan.shown)
    assert sum(r.tokens for r in plan.rows) == plan.prompt
    assert plan.prompt + plan.output + plan.results + plan.free == plan.context
    assert plan.free >= 0
    assert plan.messages == tuple(messages[i] for i in plan.kept)
    assert not torn(messages, plan.kept)
    assert all(i in plan.kept for i, m in enumerate(messages) if m["role"] == "system")
    named = {i for d in plan.dropped if d.what == "exchange" for i in indexes(d.place)}
    system = {i for i, m in enumerate(messages) if m["role"] == "system"}
    assert named - system == set(range(len(messages))) - {*plan.kept}
    gone = {d.place for d in plan.dropped if d.what == "tool"}
    assert gone == {t.name for t in given} - {t.name for t in plan.tools}
    shortened = {d.place for d in plan.dropped if d.what == "description"}
    pairs = zip(plan.tools, plan.shown, strict=True)
    assert shortened == {t.name for t, s in pairs if t != s}


def test_what_fits_stays_as_it_is():
    messages = [{"role": "user", "content": "Hi"}]
    plan = fit(messages, tools(2), context=1000, count=count, output=100)
    check(plan, messages, tools(2))
    assert plan.tools == plan.shown == tuple(tools(2))
    assert not plan.dropped


def test_tools_are_described_in_fewer_words_first():
    messages = forty_exchanges()
    whole = count(messages, tools(6))
    plan = fit(messages, tools(6), context=whole + 90, count=count, output=100)
    check(plan, messages, tools(6))
    assert {d.what for d in plan.dropped} == {"description"}
    assert plan.shown == tuple(compact(t, "schema") for t in tools(6))


def test_then_the_oldest_exchanges_go():
    messages = forty_exchanges()
    plan = fit(messages, tools(6), context=2000, count=count, output=100)
    check(plan, messages, tools(6))
    assert {d.what for d in plan.dropped} == {"description", "exchange"}
    places = [d.place for d in plan.dropped if d.what == "exchange"]
    assert places[:2] == ["messages[1:3]", "messages[3:5]"]
    assert plan.kept == (0, *range(len(places) * 2 + 1, 82))
    assert f"exchanges, the oldest:\n    messages[1:{plan.kept[1]}]" in str(plan)


def test_sixty_tools_and_forty_exchanges_fit_into_a_small_window():
    messages, given = forty_exchanges(), tools(60)
    assert count(messages, given) > 8192
    plan = fit(messages, given, context=2500, count=count, output=600, results=300)
    check(plan, messages, given)
    assert 8 <= len(plan.tools) < 60
    invoices = {t.name for t in given if "invoice" in t.name}
    assert invoices <= {t.name for t in plan.tools} or len(plan.tools) < len(invoices)
    assert "of 60" in str(plan)
    assert "free" in str(plan)


@pytest.mark.model
def test_sixty_tools_and_forty_turns_fit_into_8k_with_the_model_s_own_tokenizer(model):
    messages, given = forty_turns(), tools(60)
    template, vocabulary = ChatTemplate.open(model.path), model_vocabulary(model)
    plan = template.plan(messages, given, vocabulary, context=8192, results=400)
    turn = template.turn(plan.messages, tools=plan.tools, shown=plan.shown)
    assert len(turn.prompt_tokens(vocabulary)) == plan.prompt
    assert plan.prompt + plan.output + plan.results + plan.free == 8192
    assert plan.free >= 0
    assert sum(row.tokens for row in plan.rows) == plan.prompt
    assert not torn(messages, plan.kept)
    named = {i for d in plan.dropped if d.what == "exchange" for i in indexes(d.place)}
    assert named == set(range(len(messages))) - {*plan.kept}
    assert len(plan.kept) > 40
    shortened = {d.place for d in plan.dropped if d.what == "description"}
    assert shortened == {t.name for t in plan.tools}
    assert "dropped" in str(plan)
    print(plan)


def test_pinned_messages_and_wanted_tools_stay():
    messages, given = forty_exchanges(), tools(60)
    plan = fit(
        messages,
        given,
        context=1500,
        count=count,
        output=200,
        pinned=[5],
        required=["find_weather_0"],
    )
    check(plan, messages, given)
    assert {5, 6, 81} <= {*plan.kept}
    assert "find_weather_0" in {t.name for t in plan.tools}


def test_another_order_of_tools():
    messages, given = forty_exchanges(), tools(60)
    plan = fit(
        messages,
        given,
        context=1500,
        count=count,
        output=200,
        order=lambda tools, messages: list(reversed(tools)),
    )
    assert plan.tools == tuple(given[-len(plan.tools) :])


def test_what_can_not_fit_is_an_error_that_holds_the_table():
    messages = [{"role": "user", "content": "word " * 500}]
    with pytest.raises(FitError, match="the largest part is last exchange with") as caught:
        fit(messages, tools(3), context=400, count=count, output=100)
    assert caught.value.plan.free < 0
    assert "missing" in str(caught.value.plan)
    assert "\n" not in str(caught.value)


def test_a_template_that_refuses_parts_still_gets_a_plan():
    def strict(messages, tools):
        if not messages or messages[-1]["content"] == "":
            raise TemplateError("no empty messages here")
        return count(messages, tools)

    messages = [{"role": "user", "content": "Hi there"}]
    plan = fit(messages, tools(1), context=1000, count=strict, output=10)
    assert sum(r.tokens for r in plan.rows) == plan.prompt


def check_random(seed):
    draw = random.Random(seed)
    messages, given = conversation(seed), tools(draw.choice([0, 1, 12]))
    whole = count(messages, given)
    context = draw.randint(50, whole + 100)
    try:
        plan = fit(
            messages,
            given,
            context=context,
            count=count,
            output=draw.randint(0, 40),
            pinned=draw.sample(range(len(messages)), draw.choice([0, 0, 1])),
        )
    except FitError as error:
        failed = error.plan
    else:
        check(plan, messages, given)
        return
    assert failed.free < 0
    assert not torn(messages, failed.kept)


def test_random_histories_are_never_torn():
    for seed in range(150):
        check_random(seed)


@pytest.mark.laws
def test_ten_thousand_random_histories_are_never_torn():
    for seed in range(10_000):
        check_random(seed)
