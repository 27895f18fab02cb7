# ruff: noqa: E501 - templates are read in one line
"""Templates that try to take time, memory or secrets; run as a script, it judges them all.

Each source is run in this process under an address-space limit, and its verdict printed as a line
of JSON: CPU seconds, class and text of the error (or what it rendered).
"""

import contextlib
import json
import sys
import time
from datetime import UTC, datetime


def unrolled(step: str, start: str = "{% set x = 'aaaaaaaa' %}", times: int = 200) -> str:
    return start + step * times


def looped(step: str) -> str:
    start = "{% set ns = namespace(x='aaaaaaaa', l=[1, 2, 3]) %}"
    return start + "{% for i in range(100000) %}" + step + "{% endfor %}"


def shared(use: str, leaf: str = "[1]", step: str = "[x, x]") -> str:
    """A value that takes little memory and is endless when printed: 2 ** 60 leaves."""
    return f"{{% set x = {leaf} %}}" + f"{{% set x = {step} %}}" * 60 + use


def pair(use: str) -> str:
    step = "{% set x = [x, x] %}{% set y = [y, y] %}"
    return "{% set x = [1] %}{% set y = [1] %}" + step * 60 + use


LARGE = "{% set x = 'é' * 1000000 %}{% set y = 'é' * 1000000 %}{% for i in range(100000) %}"
LIST = "{% set x = range(100000) | list %}{% for i in range(100000) %}"
END = "{% endfor %}"

# Each of these has to end in a LimitError.
ENDLESS = {
    # doubling
    "+ in a loop": looped("{% set ns.x = ns.x + ns.x %}"),
    "+ unrolled": unrolled("{% set x = x + x %}"),
    "~ in a loop": looped("{% set ns.x = ns.x ~ ns.x %}"),
    "~ unrolled": unrolled("{% set x = x ~ x %}"),
    "* in a loop": looped("{% set ns.x = ns.x * 2 %}"),
    "* unrolled": unrolled("{% set x = x * 3 %}"),
    "* at once": "{{ 'x' * 20000000000 }}",
    "* the other way": "{{ 20000000000 * 'x' }}",
    "* of a list": "{{ ([1] * 2000000000) | length }}",
    "% in a loop": looped("{% set ns.x = '%s%s' % (ns.x, ns.x) %}"),
    "% unrolled": unrolled("{% set x = '%s%s' % (x, x) %}"),
    "% with names": looped("{% set ns.x = '%(a)s%(a)s' % {'a': ns.x} %}"),
    "% width": "{{ '%2000000000d' % 1 }}",
    "% star": "{{ '%*d' % (2000000000, 1) }}",
    "% precision": "{{ '%.2000000000f' % 1 }}",
    "format filter": "{{ '%2000000000s' | format('x') }}",
    "join in a loop": looped("{% set ns.x = [ns.x, ns.x] | join(ns.x) %}"),
    "join unrolled": unrolled("{% set x = [x, x] | join %}"),
    "join method": looped("{% set ns.x = ns.x.join([ns.x, ns.x]) %}"),
    "join of a range": "{{ range(100000) | join('x' * 100000) }}",
    "join of text": "{% set s = 'x' * 100000 %}{{ s.join(s) }}{{ s | join(s) }}",
    "join of a field": "{{ ([{'a': 'x' * 100000}] * 1000) | join(attribute='a') }}",
    "replace in a loop": looped("{% set ns.x = ns.x | replace('a', 'aa') %}"),
    "replace unrolled": unrolled("{% set x = x.replace('a', 'aaaa') %}"),
    "replace of nothing": "{% set s = 'x' * 100000 %}{{ s.replace('', s) }}",
    "% in even": "{% if '%2000000000d' is even %}{% endif %}",
    "% in divisibleby": "{% if '%2000000000s' is divisibleby(1) %}{% endif %}",
    "center": "{{ 'x' | center(2000000000) }}",
    "center method": "{{ 'x'.center(2000000000) }}",
    "ljust": "{{ 'x'.ljust(2000000000) }}",
    "zfill": "{{ 'x'.zfill(2000000000) }}",
    "expandtabs": "{{ ('\t' * 10000).expandtabs(100000) }}",
    "many centers": looped("{% set ns.x = ns.x | center(4096) %}{% set ns.l = ns.l + [ns.x] %}"),
    "indent": "{{ 'a\nb' | indent(2000000000) }}",
    "indent by text": "{% set s = 'x' * 1000000 %}{{ ('\n' * 1000000) | indent(s) }}",
    "indent in a loop": looped("{% set ns.x = (ns.x ~ '\n' ~ ns.x) | indent(4000) %}"),
    "format width": "{{ '{:>20000000000}'.format(1) }}",
    "format nested width": "{{ '{:{}}'.format(1, 2000000000) }}",
    "format precision": "{{ '{:.2000000000f}'.format(1.0) }}",
    "format in a loop": looped("{% set ns.x = '{0}{0}'.format(ns.x) %}"),
    "format unrolled": unrolled("{% set x = '{0}{0}'.format(x) %}"),
    "format_map": looped("{% set ns.x = '{a}{a}'.format_map({'a': ns.x}) %}"),
    "lists in a loop": looped("{% set ns.l = ns.l + ns.l %}"),
    "lists unrolled": unrolled("{% set x = x + x %}", "{% set x = [1] %}"),
    "lists times": looped("{% set ns.l = ns.l * 2 %}"),
    "list.extend": looped("{% set _ = ns.l.extend(ns.l) %}"),
    "set blocks": looped("{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}"),
    "joiner": looped("{% set j = joiner(ns.x) %}{% set _ = j() %}{% set ns.x = ns.x ~ j() %}"),
    "cycler": looped("{% set c = cycler(ns.x ~ ns.x) %}{% set ns.x = c.next() %}"),
    "escaped": looped("{% set ns.x = (ns.x | safe) + '&&&' %}{% set ns.x = ('<' | safe) + ns.x %}"),
    "autoescape": "{% autoescape true %}" + looped("{% set ns.x = ns.x ~ ns.x %}") + "{% "
    "endautoescape %}",
    "large strings kept": "{% set l = [] %}{% for i in range(100000) %}"
    "{% set _ = l.append('é𝄞' * 100000 ~ i) %}{% endfor %}",
    "small strings kept": "{% set l = [] %}{% for i in range(100000) %}"
    "{% set _ = l.append('é𝄞' * 1000 ~ i) %}{% endfor %}",
    # integers
    "** of integers": "{{ 10 ** 10 ** 8 }}{{ 7 ** (10 ** 8) }}",
    "** of a power": "{{ (2 ** 4000) ** 4000 }}",
    "** unrolled": unrolled("{% set x = x ** 9 %}", "{% set x = 9 %}", 50),
    "squares": "{% set ns = namespace(x=10) %}{% for i in range(99) %}{% set ns.x = ns.x * ns.x %}"
    "{% endfor %}",
    "sums": "{% set ns = namespace(x=10) %}{% for i in range(99999) %}{% set ns.x = ns.x + ns.x %}"
    "{% endfor %}",
    "sum filter": "{% set ns = namespace(x=1) %}{% for i in range(99999) %}"
    "{% set ns.x = [ns.x, ns.x] | sum %}{% endfor %}",
    "sum of lists": "{% set l = [[1] * 1000] * 1000 %}{{ l | sum(start=[]) | length }}",
    "int of digits": "{{ ('f' * 1000000) | int(base=16) }}",
    "round": "{{ 1 | round(1000000000, 'ceil') }}",
    "constant": "{{ 0x" + "f" * 300_000 + " }}",
    # keys whose hashes are alike
    "integers": "{% set d = {} %}{% for i in range(99999) %}"
    "{% set _ = d.update({i * 2305843009213693951: i}) %}{% endfor %}",
    "tuples": "{% set ns = namespace(l=[()]) %}{% for i in range(20) %}{% set m = [] %}"
    "{% for t in ns.l %}{% set _ = m.append(t + (-1,)) %}{% set _ = m.append(t + (-2,)) %}"
    "{% endfor %}{% set ns.l = m %}{% set d = {} %}{% for t in m %}{% set _ = d.update({t: 1}) %}"
    "{% endfor %}{% endfor %}",
    "tuples at once": "{% set ns = namespace(l=[()]) %}{% for i in range(20) %}{% set m = [] %}"
    "{% for t in ns.l %}{% set _ = m.append(t + (-1,)) %}{% set _ = m.append(t + (-2,)) %}"
    "{% endfor %}{% set ns.l = m %}{% set p = [] %}{% for t in m %}{% set _ = p.append((t, 1)) %}"
    "{% endfor %}{% for j in range(9) %}{% set d = dict(p) %}{% endfor %}{% endfor %}",
    "tuples made unique": "{% set ns = namespace(l=[()]) %}{% for i in range(20) %}{% set m = [] %}"
    "{% for t in ns.l %}{% set _ = m.append(t + (-1,)) %}{% set _ = m.append(t + (-2,)) %}"
    "{% endfor %}{% set ns.l = m | unique %}{% endfor %}",
    "tuples in a namespace": "{% set ns = namespace(l=[()]) %}{% for i in range(11) %}{% set m = [] %}"
    "{% for t in ns.l %}{% set _ = m.append(t + (-1,)) %}{% set _ = m.append(t + (-2,)) %}"
    "{% endfor %}{% set ns.l = m %}{% endfor %}{% set p = [] %}{% for t in ns.l %}"
    "{% set _ = p.append((t, 1)) %}{% endfor %}{% for j in range(999) %}{% set d = namespace(p) %}{% endfor %}",
    "literal": "{% for i in range(99999) %}{% set d = {"
    + ", ".join(
        f"({', '.join('-2' if n >> b & 1 else '-1' for b in range(8))}): 1" for n in range(256)
    )
    + "} %}{% endfor %}",
    "deep key": "{% set ns = namespace(x=()) %}{% for i in range(30000) %}{% set ns.x = (ns.x,) %}"
    "{% endfor %}{{ {ns.x: 1} }}",
    # values that share parts
    "shared printed": shared("{{ x }}"),
    "shared as JSON": shared("{{ x | tojson }}"),
    "shared joined": shared("{{ x ~ x }}"),
    "shared as string": shared("{{ x | string }}"),
    "shared in upper case": shared("{{ x | upper }}"),
    "shared formatted": shared("{{ '{}'.format(x) }}"),
    "shared in %": shared("{{ '%s' % (x,) }}"),
    "shared compared": pair("{{ x == y }}"),
    "shared in a chain": pair("{{ 1 < 2 == x == y }}"),
    "shared searched": pair("{{ x in [y, y] }}"),
    "shared ordered": pair("{{ [x, y] | sort }}"),
    "shared as key": shared("{{ {x: 1} }}", "(1, 2)", "(x, x)"),
    "shared made unique": shared("{{ [x, x] | unique | list }}", "(1, 2)", "(x, x)"),
    "shared not found": shared("{{ [1].index(x) }}"),
    "shared raised": shared("{{ raise_exception(x) }}"),
    "holds itself": "{% set x = [1] %}{% set _ = x.append(x) %}{{ x | tojson }}",
    "deep": "{% set ns = namespace(x=1) %}{% for i in range(50000) %}{% set ns.x = [ns.x] %}"
    "{% endfor %}{{ ns.x }}",
    "deep JSON": "{% set ns = namespace(x=1) %}{% for i in range(50000) %}{% set ns.x = [ns.x] %}"
    "{% endfor %}{{ ns.x | tojson(indent=64) }}",
    # steps
    "nested loops": "{% for a in range(100000) %}" * 3 + END * 3,
    "loops that skip": "{% for a in range(100000) %}{% for b in range(100000) if false %}x{% endfor "
    "%}{% endfor %}",
    "lists of ranges": "{% for a in range(100000) %}{% set x = range(100000) | list %}{% endfor %}",
    "macro in itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "macro tree": "{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}"
    "{% endmacro %}{{ m(60) }}",
    "silent macro tree": "{% macro m(n) %}{% if n > 0 %}{% set _ = m(n - 1) %}{% set _ = m(n - 1) %}"
    "{% endif %}{% endmacro %}{{ m(60) }}",
    "block tree": "{% set ns = namespace(d=0) %}{% block a %}{{ self.a() }}{% endblock %}",
    "recursive loop": "{% for i in [1] recursive %}{{ loop([1]) }}{{ loop([1]) }}{% endfor %}",
    "callers": "{% macro m() %}{{ caller() }}{{ caller() }}{% endmacro %}"
    + "{% call m() %}" * 18
    + "x"
    + "{% endcall %}" * 18,
    "long bodies": "{% for a in range(100000) %}" + "x" * 20000 + END,
    "long macros": "{% macro m() %}" + "x" * 20000 + "{% endmacro %}{% for a in range(100000) %}"
    "{% set x = m() %}{% endfor %}",
    "many constants": "{% for a in range(100000) %}" + "{{ 1 }}" * 2000 + END,
    "many assignments": "{% for a in range(100000) %}" + "{% set b = 1 %}" * 2000 + END,
    "own names for ours": "{% set environment = 1 %}{% set context = 1 %}"
    + "{% for i in range(100000) %}" * 3
    + END * 3,
    # reading large values again and again
    "upper": LARGE + "{% set z = x | upper %}" + END,
    "in": LARGE + "{% set z = 'z' in x %}" + END,
    "is in": LARGE + "{% if 'z' is in(x) %}{% endif %}" + END,
    "==": LARGE + "{% set z = x == y %}" + END,
    "is eq": LARGE + "{% if x is eq(y) %}{% endif %}" + END,
    "is lower": LARGE + "{% if x is lower %}{% endif %}" + END,
    "slices": LARGE + "{% set z = x[1:] %}" + END,
    "startswith": LARGE + "{% set z = x.startswith(x) %}" + END,
    "changed": LARGE + "{{ loop.changed(x if i % 2 else y) }}" + END,
    "defaults": "{% set x = 'é' * 1000000 %}{% macro m(a=x ~ x) %}{% endmacro %}"
    "{% for i in range(100000) %}{{ m() }}{% endfor %}",
    "split": "{% for i in range(100000) %}{% set x = ('a ' * 100000).split() %}{% endfor %}",
    "title": "{% set x = 'a ' * 100000 %}{% for i in range(99) %}{% set y = x | title %}{% endfor %}",
    "urlencode": "{% set x = '𝄞' * 100000 %}{% for i in range(99) %}{% set y = x | urlencode %}"
    "{% endfor %}",
    "sort": LIST + "{% set y = x | sort %}" + END,
    "reverse": LIST + "{% set y = x | reverse %}" + END,
    "copy": LIST + "{% set y = x.copy() %}" + END,
    "insert": LIST + "{% set y = x.insert(0, 1) %}" + END,
    "in a list": LIST + "{% set y = -1 in x %}" + END,
    "select": "{% for i in range(100000) %}{% set y = range(100000) | select('false') %}" + END,
    "chains of map": "{% set x = range(100000) %}" + "{% set x = x | map('string') %}" * 500,
    "maps of maps": "{% set ns = namespace(x=[1]) %}{% for i in range(100000) %}"
    "{% set ns.x = ns.x | map('string') %}{% endfor %}",
    "long attribute": "{{ range(100000) | map(attribute='a.' * 100000) | list }}",
    "wordwrap": "{{ ('x ' * 100000) | wordwrap(1, wrapstring='y' * 100000) }}",
    "batch by name": "{{ [1] | batch(fill_with='x', linecount=2000000000) | list }}",
    "round of text": "{{ 'x' | round(9, 'ceil') }}",
    "shared attribute name": shared("{{ 1 | attr(x) }}"),
    "batch": "{{ [1] | batch(2000000000, 'x') | list }}",
    "slice": "{{ [1] | slice(2000000000) | list }}",
    "separators": "{{ (range(100000) | list) | tojson(separators=('x' * 100000, 'y')) }}",
    "from_json": "{% set x = '[' ~ ('[],' * 200000) ~ '1]' %}{{ x | from_json | length }}",
    "from_json deep": "{{ ('[' * 50000) | from_json }}",
    "search backwards": "{% set x = 'a' * 500000 %}{{ x.rfind('a' * 100000 ~ 'b' ~ 'a' * 100000) }}",
    "rsplit": "{% set x = 'a' * 50000 %}{% for i in range(99999) %}"
    "{% set y = x.rsplit('aaaaaaaaaabaaaaaaaaaaaaaa') %}{% endfor %}",
    "strip": "{% set x = 'é' * 500000 %}{{ x.strip('a' * 100000 ~ 'é') }}",
    "trim": "{% set x = 'é' * 500000 %}{{ x | trim('a' * 100000 ~ 'é') }}",
    "percent signs": "{% for i in range(99) %}{% set x = ('%%' * 30000) % () %}{% endfor %}",
    "shared replaced": shared("{{ 'x' | replace(x, 'y') }}"),
    "date": "{{ strftime_now('%Y' * 1000) }}",
    # sources
    "50 MB": "x" * 50_000_000,
    "nested ifs": "{% if 1 %}" * 100_000 + "{% endif %}" * 100_000,
    "nested ifs, shorter": "{% if 1 %}" * 15_000 + "{% endif %}" * 15_000,
    "nested parentheses": "{{ " + "(" * 100_000 + "1" + ")" * 100_000 + " }}",
    "nested lists": "{{ " + "[" * 100_000 + "1" + "]" * 100_000 + " }}",
    "long sum": "{{ " + "1+" * 100_000 + "1 }}",
    "long or": "{{ " + "1 or " * 70_000 + "1 }}",
    "long filters": "{{ 1" + "|abs" * 90_000 + " }}",
    "long attributes": "{{ a" + ".a" * 100_000 + " }}",
    "many outputs": "{{ a }}" * 57_000,
    "many branches": "".join(
        f"{{% if v{i} %}}{{% set w{i} = 1 %}}{{% endif %}}" for i in range(2300)
    ),
    "many elifs": "{% if 0 %}" + "{% elif 0 %}" * 20_000 + "{% endif %}",
    "many macros": "".join(
        f"{{% macro m{i}(a, b=1) %}}{{{{ a }}}}{{% endmacro %}}" for i in range(8000)
    ),
}

# Each of these has to end in a TemplateError.
REFUSED = {
    "class": "{{ ''.__class__.__mro__ }}",
    "class by attr": "{{ (''|attr('__class__')).mro() }}",
    "class by item": "{{ ''['__class__'].mro() }}",
    "class in format": "{{ '{0.__class__.__mro__}'.format('') }}",
    "class in format found by attr": "{{ (''|attr('format'))('{0.__class__.__mro__}') }}"
    "{{ ('{0.__class__.__mro__}'|attr('format'))('') }}",
    "class in format_map": "{{ '{a.__class__.__mro__}'.format_map({'a': 1}) }}",
    "class by map": "{{ [1] | map(attribute='__class__.__mro__') | list }}",
    "class by groupby": "{{ [1, 2] | groupby('__class__') }}",
    "globals of a function": "{{ raise_exception.__globals__.os }}",
    "globals of a class": "{{ cycler.__init__.__globals__ }}",
    "globals of a macro": "{% macro m() %}{% endmacro %}{{ m._func.__globals__ }}",
    "context of self": "{{ self._TemplateReference__context.meter }}",
    "namespace attribute": "{% set ns = namespace() %}{% set ns.__class__ = 'x' %}",
    "namespace argument": "{{ namespace(__init__=1) }}",
    "base of dict": "{{ dict.__base__.__subclasses__() }}",
    "mro of dict": "{{ dict.mro() }}",
    "code of a generator": "{{ (messages | map('upper')).gi_frame.f_back }}",
    "iterator of a loop": "{% for a in [1] %}{{ loop._iterator.__class__.x }}{% endfor %}",
    "our filters": "{{ 'x' | concat('y') }}",
    "our context": "{{ context.meter }}",
    "file include": "{% include '/etc/passwd' %}",
    "file import": "{% import '/etc/passwd' as x %}",
    "file extends": "{% extends '/etc/passwd' %}",
    "module import": "{% from 'os' import path %}",
    "translate": "{{ 'aaaa'.translate({97: 'x' * 1000000}) }}",
    "encode": "{{ 'a'.encode() }}",
    "to_bytes": "{{ (5).to_bytes(1000000000, 'big') }}",
    "range": "{{ range(10 ** 9) | list | length }}",
    "hooks of from_json": "{{ '{}' | from_json(object_hook=raise_exception) }}",
    "lipsum": "{{ lipsum(1000000) }}",
    "striptags": "{{ ('<!--' * 100000) | striptags }}",
    "shared as index": shared("{{ {}[x].y }}"),
    "scientific width": "{{ '{:>2e10}'.format(1) }}",
    "JSON indent": "{{ [[1]] | tojson(indent=2000000000) }}",
    "float": "{{ 10.0 ** 1000 }}",
    "twenty loops": "{% for a in [1] %}" * 50 + END * 50,
    "hundred ifs": "{% if a %}" * 150 + "{% endif %}" * 150,
    "long integer": "{{ " + "9" * 300_000 + " }}",
    "many comments": "{#" * 100_000,
    "unclosed": "{% if 1 %}" * 50,
    "no string": "{{ 'abc }}",
    "raise": "{{ raise_exception('no\nway') }}",
}


def judge() -> None:
    import untemplate.template.sandbox  # loaded before the limit is measured
    from untemplate.errors import UntemplateError
    from untemplate.template import CompiledTemplate

    assert untemplate.template.sandbox.environment()
    with contextlib.suppress(ImportError):
        import resource

        pages = int(open("/proc/self/statm").read().split()[0])  # noqa: PTH123, SIM115
        limit = pages * resource.getpagesize() + 500_000_000
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for name, source in (ENDLESS | REFUSED).items():
        start = time.process_time()
        try:
            template = CompiledTemplate(source)
            said = template.render([{"role": "user"}], add_generation_prompt=True, now=now)
            kind = "rendered"
        except UntemplateError as error:
            kind, said = type(error).__name__, str(error)
        seconds = time.process_time() - start
        print(json.dumps([name, kind, said[:1000], seconds]), flush=True)


if __name__ == "__main__":
    sys.setrecursionlimit(1000)
    judge()
