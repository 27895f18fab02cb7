"""What is shown of a call that is cut: 43 documents as arguments, cut after every byte.

For ours and for libraries that read JSON before it is whole, each as its users use it in streams.
Counted are cuts at which it raises; at which something is shown that the document does not have (a
number that is cut, half a key, a value that was never written); at which a value is missing that
was received; at which something changes or goes that was shown before; and those inside a string of
which something is shown without saying that it is not whole. `tests/cutting.py` holds documents and
judge, `tests/reader/test_cutting.py` holds ours to 0. `make bench` installs the peers.
"""

import codecs
import copy
import json
import sys
from pathlib import Path

from bench.peers import parsers

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from cutting import DOCUMENTS, MISSING, score
from dialects import HERMES
from untemplate.grammar import build_grammar
from untemplate.message import Tool
from untemplate.reader import Reader

TOOL = Tool("write_file", parameters={"type": "object"})


def ours(document):
    reader = Reader(build_grammar(HERMES, [TOOL], prompt=HERMES.prompts[0]))
    reader.feed(b'<tool_call>\n{"name": "write_file", "arguments": ')
    for byte in document.encode():
        reader.feed(bytes([byte]))
        call = reader.live.calls[-1]
        text = call.arguments
        yield json.loads(text + call.closing) if text else MISSING, call.open_pointer


def decoded(document):
    """The text so far and what of it is new, for each byte."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    text = ""
    for byte in document.encode():
        new = decoder.decode(bytes([byte]))
        text += new
        yield text, new


def parsed_again(peer):
    def read(document):
        for text, _ in decoded(document):
            try:
                yield peer.again(text), None
            except Exception as error:  # noqa: BLE001  whatever it raises is counted
                yield error, None

    return read


def streamed(peer):
    def read(document):
        feed, value = peer.stream()
        for _, new in decoded(document):
            try:
                if new:
                    feed(parsers.openai_piece(new) if peer.name == "openai-python" else new)
                shown = copy.deepcopy(value())
            except Exception as error:  # noqa: BLE001  whatever it raises is counted
                yield error, None
                continue
            yield MISSING if shown is None else shown, None

    return read


def main():
    print("| cuts | raises | wrong | lost | goes back | cut strings shown | of these unmarked |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    reads = {"**untemplate**": ours}
    for peer in parsers.installed():
        reads[f"{peer.name} {peer.version}"] = parsed_again(peer) if peer.again else streamed(peer)
    for name, read in reads.items():
        total = score(read)
        cells = [total.raised, total.wrong, total.lost, total.goes_back]
        cells += [total.cut_strings, total.unmarked]
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |", flush=True)
    cuts = sum(len(d.encode()) for d in DOCUMENTS)
    print(f"\n{len(DOCUMENTS)} documents, {cuts} cuts each.")
    if missing := parsers.absent():
        print(f"Not installed: {', '.join(missing)}.")


if __name__ == "__main__":
    main()
