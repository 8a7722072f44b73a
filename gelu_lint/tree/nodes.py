"""LibCST's node types, handed on to the recognisers, which import no parser themselves."""

from __future__ import annotations

from libcst import (
    And as And,
)
from libcst import (
    AnnAssign as AnnAssign,
)
from libcst import (
    Annotation as Annotation,
)
from libcst import (
    Arg as Arg,
)
from libcst import (
    Assert as Assert,
)
from libcst import (
    Assign as Assign,
)
from libcst import (
    AssignTarget as AssignTarget,
)
from libcst import (
    Attribute as Attribute,
)
from libcst import (
    AugAssign as AugAssign,
)
from libcst import (
    BaseExpression as BaseExpression,
)
from libcst import (
    BinaryOperation as BinaryOperation,
)
from libcst import (
    BooleanOperation as BooleanOperation,
)
from libcst import (
    Call as Call,
)
from libcst import (
    ClassDef as ClassDef,
)
from libcst import (
    Comparison as Comparison,
)
from libcst import (
    ConcatenatedString as ConcatenatedString,
)
from libcst import (
    CSTNode as CSTNode,
)
from libcst import (
    Decorator as Decorator,
)
from libcst import (
    Del as Del,
)
from libcst import (
    Dict as Dict,
)
from libcst import (
    DictElement as DictElement,
)
from libcst import (
    Element as Element,
)
from libcst import (
    Else as Else,
)
from libcst import (
    Expr as Expr,
)
from libcst import (
    Float as Float,
)
from libcst import (
    For as For,
)
from libcst import (
    FormattedString as FormattedString,
)
from libcst import (
    FunctionDef as FunctionDef,
)
from libcst import (
    GeneratorExp as GeneratorExp,
)
from libcst import (
    If as If,
)
from libcst import (
    IfExp as IfExp,
)
from libcst import (
    Import as Import,
)
from libcst import (
    ImportAlias as ImportAlias,
)
from libcst import (
    ImportFrom as ImportFrom,
)
from libcst import (
    ImportStar as ImportStar,
)
from libcst import (
    In as In,
)
from libcst import (
    IndentedBlock as IndentedBlock,
)
from libcst import (
    Index as Index,
)
from libcst import (
    Integer as Integer,
)
from libcst import (
    Lambda as Lambda,
)
from libcst import (
    List as List,
)
from libcst import (
    Match as Match,
)
from libcst import (
    MatchAs as MatchAs,
)
from libcst import (
    MatchCase as MatchCase,
)
from libcst import (
    MatchOr as MatchOr,
)
from libcst import (
    MatchValue as MatchValue,
)
from libcst import (
    Module as Module,
)
from libcst import (
    Name as Name,
)
from libcst import (
    NamedExpr as NamedExpr,
)
from libcst import (
    NotIn as NotIn,
)
from libcst import (
    Or as Or,
)
from libcst import (
    Param as Param,
)
from libcst import (
    ParenthesizedWhitespace as ParenthesizedWhitespace,
)
from libcst import (
    Pass as Pass,
)
from libcst import (
    Raise as Raise,
)
from libcst import (
    Return as Return,
)
from libcst import (
    Set as Set,
)
from libcst import (
    SimpleStatementLine as SimpleStatementLine,
)
from libcst import (
    SimpleString as SimpleString,
)
from libcst import (
    Slice as Slice,
)
from libcst import (
    Subscript as Subscript,
)
from libcst import (
    Try as Try,
)
from libcst import (
    TryStar as TryStar,
)
from libcst import (
    Tuple as Tuple,
)
from libcst import (
    UnaryOperation as UnaryOperation,
)
from libcst import (
    With as With,
)
from libcst import (
    WithItem as WithItem,
)
from libcst import (
    Yield as Yield,
)
