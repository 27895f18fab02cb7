"""The official JSON-Schema-Test-Suite: the mask alone accepts each instance exactly if it is valid.

The suite comes out of the source archive of the package `jsonschema`, pinned by its checksum and
kept in the cache; without an index the tests are skipped. Each instance is written as `json.dumps`
writes it, and formats are asserted. Where the mask differs the reason is a rule of docs/schemas.md,
listed here; what the report calls `checked` may be wider, and nothing else.
"""

import functools
import json
import re
import tarfile

import pytest

from constrain.judging import answer_by, takes_answer
from untemplate.engines.fetch import index_file
from untemplate.engines.models import cache_dir
from untemplate.errors import EngineError, SchemaError
from untemplate.grammar.report import report_on

ARCHIVE = "jsonschema-4.26.0.tar.gz"
SHA256 = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"
DRAFTS = {
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
NARROWER = [
    (r"-?\d+\.0\b|e\+308", "a whole number is written without fraction and exponent"),
    (r"\d{41}", "digits are bounded"),
    (r"only an annotation by default", "formats are asserted"),
    (r":60(\.\d+)?[+-](?!00:00)", "leap seconds are written in UTC only"),
    (r"a valid punycoded IDN hostname", "host names in punycode are not written"),
    (r"no validation: invalid number", "a metaschema outside is not looked into"),
]
"""Found in a test or its instance: why a valid instance is not written."""
WIDER = [(r"^optional/content\.json", "contents are not looked into")]
"""Found in the name of a file: why an invalid instance is written."""


@functools.cache
def suite():
    """Groups of tests by file."""
    path = cache_dir() / "suites" / ARCHIVE
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            index_file("jsonschema", ARCHIVE, sha256=SHA256, target=path)
        except EngineError as error:
            pytest.skip(f"the suite {error}")
    with tarfile.open(path) as archive:
        files = {
            found[1]: json.load(archive.extractfile(member))
            for member in archive
            if (found := re.search(r"/json/tests/(.+\.json)$", member.name))
        }
    assert sum(name.startswith("draft2020-12/") for name in files) > 60
    return files


def why_different(file, test, is_valid):
    """The rule that a difference follows; nothing: it is a fault."""
    text = f"{test['description']} {json.dumps(test['data'])}"
    rules, where = (NARROWER, text) if is_valid else (WIDER, file)
    return next((why for pattern, why in rules if re.search(pattern, where)), "")


def judged(file, group, schema):
    """What becomes of each test of a group: right, or why it is not, or a fault."""
    try:
        report = report_on((), schema, open_objects=True)
        answer = answer_by(schema)
    except SchemaError as error:
        answer = None
        if "no value that can be written is as the schema says" not in str(error):
            is_remote = "nothing is fetched" in str(error)
            return ["refused" if is_remote else f"{file} {group['description']}: {error}"]
    found = []
    for test in group["tests"]:
        is_taken = answer is not None and takes_answer(answer, test["data"])
        if is_taken == test["valid"]:
            found.append("right")
        elif is_taken and report.checked:
            found.append("checked")
        else:
            fault = f"{file} {group['description']}: {test['description']} {test['data']!r:.80}"
            found.append(why_different(file, test, test["valid"]) or fault)
    return found


def outcomes(draft, names):
    """How often each outcome came, over the files of a draft whose names match."""
    counts = {}
    for path, groups in suite().items():
        folder, _, file = path.partition("/")
        if folder != draft or not re.search(names, file):
            continue
        for group in groups:
            schema = group["schema"]
            if isinstance(schema, dict):
                schema = {"$schema": DRAFTS[draft], **schema}
            for outcome in judged(file, group, schema):
                counts[outcome] = counts.get(outcome, 0) + 1
    return counts


EXPECTED = {"right", "checked", "refused", *(why for _, why in (*NARROWER, *WIDER))}


def test_references_of_the_suite():
    for draft in DRAFTS:
        counts = outcomes(draft, r"^(anchor|defs|dynamicRef|recursiveRef|ref)\.json$")
        assert counts.keys() <= EXPECTED, counts.keys() - EXPECTED
        assert counts["right"] > 60


def test_keywords_of_the_suite():
    counts = outcomes("draft2020-12", r"^(?!format|unevaluatedP|dynamic|ref)[a-zA-Z-]*\.json$")
    assert counts.keys() <= EXPECTED, counts.keys() - EXPECTED
    assert counts["right"] > 700


@pytest.mark.laws
@pytest.mark.parametrize("draft", DRAFTS)
def test_the_whole_suite(draft):
    counts = outcomes(draft, "")
    assert counts.keys() <= EXPECTED, counts.keys() - EXPECTED
    assert counts["right"] > 1_350
    assert counts["checked"] <= 60
    assert counts["refused"] <= 30
