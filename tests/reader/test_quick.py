"""Values made the quick way are those that their classes make."""

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from untemplate.message import CallDelta, Delta
from untemplate.reader import ArgumentsDelta, TextDelta
from untemplate.reader.quick import arguments_event, arguments_news, text_event, text_news

PAIRS = [
    (arguments_event(1, '"a', (3, 5)), ArgumentsDelta(1, '"a', (3, 5))),
    (text_event("reasoning", "b", (0, 1)), TextDelta("reasoning", "b", (0, 1))),
    (arguments_news(2, "{"), Delta(tool_calls=(CallDelta(2, arguments="{"),))),
    (text_news("content", "hi"), Delta("hi")),
    (text_news("reasoning", "hm"), Delta("", "hm")),
]


@pytest.mark.parametrize(("quick", "usual"), PAIRS)
def test_it_is_the_same_value(quick, usual):
    assert quick == usual
    assert (type(quick), hash(quick), repr(quick)) == (type(usual), hash(usual), repr(usual))
    assert pickle.loads(pickle.dumps(quick)) == copy.deepcopy(quick) == replace(quick) == usual
    with pytest.raises(FrozenInstanceError):
        setattr(quick, fields(quick)[0].name, "other")
