from conversations import call, conversation, torn
from untemplate.budget.exchanges import exchanges

USER = {"role": "user", "content": "?"}
ANSWER = {"role": "assistant", "content": "."}


def asks(*ids):
    return {"role": "assistant", "content": None, "tool_calls": [call(i) for i in ids]}


def result(call_id):
    return {"role": "tool", "tool_call_id": call_id, "content": "."}


def test_an_exchange_goes_from_one_user_to_the_next():
    messages = [{"role": "system", "content": "."}, USER, asks("a"), result("a"), ANSWER, USER]
    assert exchanges(messages) == ((1, 2, 3, 4), (5,))


def test_users_in_a_row_are_one_exchange():
    assert exchanges([USER, USER, ANSWER, USER]) == ((0, 1, 2), (3,))


def test_a_conversation_may_begin_with_the_assistant():
    assert exchanges([ANSWER, USER, ANSWER]) == ((0,), (1, 2))


def test_a_late_result_bridges_all_up_to_its_call():
    messages = [USER, asks("a"), USER, ANSWER, USER, result("a"), USER]
    assert exchanges(messages) == ((0, 1, 2, 3, 4, 5), (6,))


def test_calls_of_one_id_are_answered_by_the_nearest_that_waits():
    messages = [USER, asks("x"), result("x"), USER, asks("x"), result("x")]
    assert exchanges(messages) == ((0, 1, 2), (3, 4, 5))


def test_a_result_without_an_id_answers_the_calls_before_it():
    messages = [USER, asks("a"), USER, {"role": "tool", "content": "."}, USER]
    assert exchanges(messages) == ((0, 1, 2, 3), (4,))


def test_a_result_without_any_call_is_kept_where_it_stands():
    assert exchanges([result("a"), USER]) == ((0,), (1,))


def test_nothing_is_nothing():
    assert exchanges([]) == ()


def test_exchanges_tile_the_conversation_and_tear_nothing():
    for seed in range(300):
        messages = conversation(seed)
        groups = exchanges(messages)
        flat = [i for g in groups for i in g]
        assert flat == [i for i, m in enumerate(messages) if m["role"] != "system"]
        for number in range(len(groups)):
            assert not torn(messages, [i for g in groups[number:] for i in g])
