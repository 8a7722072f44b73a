"""Expressions of the IR from Python notation, for the tests."""

import ast
import math

from gelu_lint.numerics.ir import Expr, X, call, const

BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}


def formula(text: str) -> Expr:
    """An expression from Python notation; `pi` and the operations of the IR are the only names beside x."""

    def lower(node: ast.expr) -> Expr:
        match node:
            case ast.BinOp(left, op, right):
                return call(BINARY[type(op)], lower(left), lower(right))
            case ast.UnaryOp(ast.USub(), operand):
                return call("neg", lower(operand))
            case ast.Constant(value):
                return const(value)
            case ast.Name(name):
                return X if name == "x" else const({"pi": math.pi}[name])
            case ast.Call(ast.Name(name), args):
                return call(name, *map(lower, args))
        raise AssertionError(ast.dump(node))

    return lower(ast.parse(text, mode="eval").body)
