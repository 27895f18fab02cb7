"""What many tests share: plain modules of this folder, and the embedded model, once per run."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from untemplate.engines.models import find_model, pull
from untemplate.errors import EngineError

sys.path.insert(0, str(Path(__file__).parent))

# Tests leave nothing behind, and find nothing.
os.environ["UNTEMPLATE_ANALYSES"] = ""

# The short run draws the same examples each time; `make laws` draws new ones.
settings.register_profile("same", derandomize=True)
if "UNTEMPLATE_DRAW" not in os.environ:
    settings.load_profile("same")

# A shell that starts the tests in the background ignores SIGINT for them, and so for what they
# start; the tests of Ctrl-C need it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def library():
    """llama.cpp, or a skip that says why; in CI a missing one is a failure."""
    from untemplate.engines.llama.library import load

    try:
        return load()
    except EngineError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def model_path():
    """UNTEMPLATE_GGUF, or SmolLM2 if it was fetched; in CI it is fetched now."""
    if given := os.environ.get("UNTEMPLATE_GGUF"):
        return Path(given)
    if os.environ.get("CI"):
        return pull("smollm2")
    path = find_model("smollm2")
    if path is None:
        pytest.skip("no model: run `untemplate models pull smollm2`, or set UNTEMPLATE_GGUF")
    return path


@pytest.fixture(scope="session")
def model(library, model_path):
    from untemplate.engines.llama.model import Model

    model = Model(model_path)
    yield model
    model.close()
