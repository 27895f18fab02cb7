"""Docstrings in three styles say the same."""

import pytest

from untemplate.loop.docstrings import describe

GOOGLE = """Weather of a city.

    Only for Europe.

    Args:
        city (str): its name,
            with the country
        days: how many days

    Returns:
        A forecast.
    """

NUMPY = """Weather of a city.

    Only for Europe.

    Parameters
    ----------
    city : str
        its name,
        with the country
    days : int, optional
        how many days

    Returns
    -------
    dict
        A forecast.
    """

SPHINX = """Weather of a city.

    Only for Europe.

    :param str city: its name,
        with the country
    :param days: how many days
    :type days: int
    :returns: A forecast.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_styles(text):
    found = describe(text)
    assert found.text == "Weather of a city.\n\nOnly for Europe."
    assert found.parameters == {"city": "its name, with the country", "days": "how many days"}


def test_numpy_names_together_and_stars():
    found = describe(
        "X.\n\nParameters\n----------\na, b : int\n    two numbers\n**rest\n    more\n"
    )
    assert found.parameters == {"a": "two numbers", "b": "two numbers", "rest": "more"}


def test_prose_that_looks_like_a_section_stays():
    text = "Note the form:\n\nExample: do this.\nArgs: none of them matter."
    assert describe(text).text == text


@pytest.mark.parametrize("text", [None, "", "   ", "Args:", "----\n----", ":param:", "::\n\n:a b"])
def test_odd_docstrings_do_not_fail(text):
    assert describe(text).parameters == {}
