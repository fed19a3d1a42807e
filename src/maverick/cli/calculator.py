"""Arithmetic from a text, worked out node by node: nothing is evaluated as Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from maverick.exceptions import ToolError

_LONGEST = 200
_MOST_BITS = 4096
"""The largest number a result may have on the way, so that ``9**9**9`` is refused rather than worked on."""

_BINARY: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[float], float]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def evaluate(expression: str) -> int | float:
    """Work out an arithmetic expression of numbers, ``+ - * / // % **`` and brackets.

    Raises:
        ToolError: It is no arithmetic, or has no answer, or one that is far too large.
    """
    if len(expression) > _LONGEST:
        raise ToolError(f"The expression is longer than {_LONGEST} characters. Split it into smaller ones.")
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError) as error:
        raise ToolError(_not_arithmetic(expression), cause=error) from error
    except ZeroDivisionError as error:
        raise ToolError("Nothing can be divided by zero.", cause=error) from error
    except OverflowError as error:
        raise ToolError("The result is too large. Use smaller numbers.", cause=error) from error
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


def _value(node: ast.expr) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _combined(sign, _value(left), _value(right))
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
            return _UNARY[type(sign)](_value(operand))
    raise ValueError


def _combined(sign: ast.operator, left: float, right: float) -> int | float:
    power = isinstance(sign, ast.Pow) and isinstance(left, int) and isinstance(right, int)
    if power and int(left).bit_length() * abs(right) > _MOST_BITS:
        raise OverflowError
    value = _BINARY[type(sign)](left, right)
    if isinstance(value, complex):  # a root of a negative number
        raise ValueError  # noqa: TRY004 - it is no answer, whatever its type
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise OverflowError
    return value


def _not_arithmetic(expression: str) -> str:
    return f"{expression!r} is not arithmetic. Use numbers, + - * / // % ** and brackets."
