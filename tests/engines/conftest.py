"""An engine with a small context and several sequences, once per test run."""

import pytest


@pytest.fixture(scope="session")
def engine(model):
    from untemplate.engines.llama.engine import LlamaEngine

    return LlamaEngine(model, context_tokens=1024, sequences=3)
