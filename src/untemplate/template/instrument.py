"""Rewrites a parsed template so that work which no hook of Jinja's sandbox sees is charged too.

In goes the syntax tree, out comes the same tree with

- a charge at the head of each loop, macro, call and block, for what one round of it holds;
- `a ~ b`, `a[1:2]`, `a in b`, `{a: b}` and comparisons passed through filters of the sandbox.

The filters have names that begin with a blank, which no template can write, so none can be called,
shadowed or left out by one.

    {% for m in list %}x{% endfor %}   ->   {% for m in list %}{% do 77 | " step" %}x{% endfor %}

It also refuses sources that would take long to compile: compiling is linear in the elements of a
source, but for the names that each branch has to be told of.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from jinja2 import nodes
from jinja2.environment import Environment
from jinja2.runtime import markup_join
from jinja2.visitor import NodeTransformer

from untemplate.errors import LimitError
from untemplate.template.meter import MOST_BITS, STEP

__all__ = ["instrument", "str_join"]

MOST_NODES = 12_000
"""Nodes of a syntax tree; the largest in the corpus has 1,400."""
MOST_NAMES_BY_BRANCHES = 1_000_000
"""Different names times branches; the most in the corpus is 6,000."""
NODE = 4
CALL = 128
"""Units for a node of the syntax tree that one round runs, and for one that calls something."""

_Stepped = nodes.For | nodes.Macro | nodes.CallBlock | nodes.Block
_Branch = nodes.For | nodes.If | nodes.CondExpr | nodes.Macro | nodes.CallBlock


def instrument(tree: nodes.Template, environment: Environment) -> nodes.Template:
    """The same template, with its charges in it."""
    charges = _Charges()
    charges.visit(tree)
    if len(charges.names) * charges.branches > MOST_NAMES_BY_BRANCHES:
        raise LimitError(
            f"the template has {len(charges.names)} names and {charges.branches} branches",
            place="template",
        )
    tree.set_environment(environment)
    return tree


def str_join(values: Iterable[Any], *, escaped: bool) -> str:
    """What `~` gives."""
    return markup_join(values) if escaped else "".join(map(str, values))


class _Charges(NodeTransformer):
    """Jinja finds a method for a node by the name of its class."""

    def __init__(self) -> None:
        self.count = 0
        self.branches = 0
        self.names: set[str] = set()

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        if self.count > MOST_NODES:
            raise LimitError(
                f"the template has more than {MOST_NODES} elements",
                place=f"template line {node.lineno}",
            )
        if isinstance(node, nodes.Name):
            self.names.add(node.name)
        elif isinstance(node, nodes.Const) and type(node.value) is int:
            if node.value.bit_length() > MOST_BITS:
                raise LimitError(
                    f"a number of more than {MOST_BITS} bits",
                    place=f"template line {node.lineno}",
                )
        elif isinstance(node, _Branch):
            self.branches += 1
        return super().visit(node, *args, **kwargs)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
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

    visit_Macro = visit_CallBlock = visit_Block = _visit_stepped  # noqa: N815

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filter(" concat", node.nodes[0], node.nodes[1:])

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        cut = node.arg
        bounds = [bound or nodes.Const(None) for bound in (cut.start, cut.stop, cut.step)]
        return _filter(" slice", node.node, bounds)

    def visit_Pair(self, node: nodes.Pair) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        if not isinstance(node.key, nodes.Const):
            node.key = _filter(" key", node.key)
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
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
    own = CALL if isinstance(node, nodes.Call) else NODE
    if isinstance(node, nodes.Dict):
        own += len(node.items) ** 2
    repeated = ("body",) if isinstance(node, _Stepped) else ()
    return own + sum(map(_weight, node.iter_child_nodes(exclude=repeated)))


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
