"""Rewrites a parsed template so that work which no hook of Jinja's sandbox sees is charged too.

In goes the syntax tree, out comes the same tree with

- a charge at the head of each loop, macro, call and block, for what one round of it holds;
- `a ~ b`, `a[1:2]`, `a in b`, `{a: b}` and comparisons passed through filters of the sandbox.

The filters have names that begin with a blank, which no template can write, so none can be called,
shadowed or left out by one.

    {% for m in messages %}x{% endfor %}  ->  {% for m in messages %}{% do 70|" step" %}x{% endfor %}
"""

from collections.abc import Iterable, Sequence
from typing import Any

from jinja2 import nodes
from jinja2.environment import Environment
from jinja2.runtime import markup_join
from jinja2.visitor import NodeTransformer

from untemplate.errors import LimitError
from untemplate.template.meter import STEP

__all__ = ["instrument", "str_join"]

MOST_NODES = 100_000
NODE = 4
"""Units for each node of the syntax tree that one round may run."""

_Stepped = nodes.For | nodes.Macro | nodes.CallBlock | nodes.Block


def instrument(tree: nodes.Template, environment: Environment) -> nodes.Template:
    """The same template, with its charges in it."""
    changed = _Instrument().visit(tree)
    assert isinstance(changed, nodes.Template)
    return changed.set_environment(environment)


def str_join(values: Iterable[Any], *, escaped: bool) -> str:
    """What `~` gives."""
    return markup_join(values) if escaped else "".join(map(str, values))


class _Instrument(NodeTransformer):
    def __init__(self) -> None:
        self.count = 0

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        if self.count > MOST_NODES:
            raise LimitError(
                f"the template is larger than {MOST_NODES} elements", place=_line(node.lineno)
            )
        return super().visit(node, *args, **kwargs)

    def visit_For(self, node: nodes.For) -> nodes.Node:
        step = _step(node)
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(step, lineno=node.lineno))
        if node.test is not None:
            # Items that the condition leaves out never reach the body.
            node.test = nodes.And(_step(node), node.test, lineno=node.lineno)
        return node

    def _visit_stepped(self, node: nodes.Macro | nodes.CallBlock | nodes.Block) -> nodes.Node:
        step = _step(node)
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(step, lineno=node.lineno))
        return node

    visit_Macro = visit_CallBlock = visit_Block = _visit_stepped

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _filter(" concat", node.nodes[0], node.nodes[1:])

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        cut = node.arg
        bounds = [bound or nodes.Const(None) for bound in (cut.start, cut.stop, cut.step)]
        return _filter(" slice", node.node, bounds)

    def visit_Pair(self, node: nodes.Pair) -> nodes.Node:
        self.generic_visit(node)
        if not isinstance(node.key, nodes.Const):
            node.key = _filter(" key", node.key)
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        if len(node.ops) == 1 and node.ops[0].op in ("in", "notin"):
            container = node.ops[0].expr
            if _is_short_literal(container):
                return node
            found = _filter(" in", node.expr, [container])
            return found if node.ops[0].op == "in" else nodes.Not(found, lineno=node.lineno)
        # A comparison reads no more of either side than the other has.
        if not isinstance(node.ops[0].expr, nodes.Const):
            node.expr = _weighed(node.expr)
        for operand in node.ops[:-1]:
            operand.expr = _weighed(operand.expr)
        for operand in node.ops:
            if operand.op in ("in", "notin"):
                operand.expr = _weighed(operand.expr)
        return node


def _step(node: _Stepped) -> nodes.Filter:
    units = STEP + sum(map(_weight, node.body))
    return _filter(" step", nodes.Const(units, lineno=node.lineno))


def _weight(node: nodes.Node) -> int:
    """Units to run this once, without the rounds of what is repeated inside it."""
    if isinstance(node, nodes.TemplateData):
        return NODE + len(node.data)
    repeated = ("body",) if isinstance(node, _Stepped) else ()
    return NODE + sum(map(_weight, node.iter_child_nodes(exclude=repeated)))


def _is_short_literal(node: nodes.Expr) -> bool:
    return (
        isinstance(node, (nodes.List, nodes.Tuple))
        and len(node.items) <= 64
        and all(isinstance(item, nodes.Const) for item in node.items)
    )


def _weighed(node: nodes.Expr) -> nodes.Expr:
    return node if isinstance(node, nodes.Const) else _filter(" weighed", node)


def _filter(name: str, value: nodes.Expr, args: Sequence[nodes.Expr] = ()) -> nodes.Filter:
    return nodes.Filter(value, name, list(args), [], None, None, lineno=value.lineno)


def _line(lineno: int) -> str:
    return f"template line {lineno}"
