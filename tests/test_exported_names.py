import untemplate


def test_every_exported_name_is_there_and_the_list_is_sorted():
    assert untemplate.__all__ == sorted(untemplate.__all__)
    for name in untemplate.__all__:
        assert getattr(untemplate, name).__module__.startswith("untemplate.")


def test_there_are_few_names():
    assert len(untemplate.__all__) < 40
