"""The embedded engine with its real model, once per test run."""

import importlib.util
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def model_path():
    if importlib.util.find_spec("xllamacpp") is None:
        reason = "no embedded engine: pip install 'untemplate[local]'"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return Path("/tmp/models/SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.fixture(scope="session")
def engine(model_path):
    from untemplate.engines.llama.engine import LlamaEngine
    from untemplate.engines.llama.model import Model

    engine = LlamaEngine(Model(model_path), context_tokens=1024)
    yield engine
    engine.close()
