"""The plainest reading of rules: all places where a node may end. An oracle, not an engine."""

from untemplate.grammar.export.rules import (
    NEVER,
    Characters,
    Choice,
    Lexeme,
    Literal,
    Reference,
    Repeat,
    Sequence,
    Text,
)


def matches(node, text, rules=None):
    """Whether the whole text is in the language of the node."""
    return len(text) in ends(node, text, 0, rules or {})


def ends(node, text, at, rules):
    match node:
        case Literal(literal):
            return {at + len(literal)} if text.startswith(literal, at) else set()
        case Characters(ranges):
            is_one = at < len(text) and any(a <= ord(text[at]) <= b for a, b in ranges)
            return {at + 1} if is_one else set()
        case Sequence(items):
            places = {at}
            for item in items:
                places = {e for p in places for e in ends(item, text, p, rules)}
            return places
        case Choice(options):
            return {e for o in options for e in ends(o, text, at, rules)}
        case Repeat(item, least, most):
            places, found, count = {at}, set(), 0
            while places and (most is None or count <= most):
                if count >= least:
                    if not places - found:
                        break
                    found |= places
                places = {e for p in places for e in ends(item, text, p, rules)}
                count += 1
            return found
        case Reference(rule):
            return ends(rules[rule], text, at, rules)
        case Lexeme(item):
            return ends(item, text, at, rules)
        case Text():
            return set(_text(node, text, at, rules))


def _text(node, text, at, rules):
    for end in range(at, len(text) + 1):
        hits = [a for a in node.avoid if text.endswith(a, at, end) and end - len(a) >= at]
        if hits:
            for hit in hits:
                for way in node.exits:
                    rest = way.closer.removeprefix(hit)
                    if way.closer.startswith(hit) and text.startswith(rest, end):
                        yield from ends(way.node, text, end + len(rest), rules)
            return
        long_enough = end - at >= node.least and (node.most is None or end - at <= node.most)
        if node.rest != NEVER and long_enough:
            yield from ends(node.rest, text, end, rules)
