# SPDX-License-Identifier: Apache-2.0
"""Static methods of Java over columns, called by the code that Spark generates.

Spark makes its own typed rows by the same expression (StaticInvoke). It needs a JVM beside this
process, which a session of Spark Connect has not.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column
from pyspark.sql.utils import get_active_spark_context

STRING = "java.lang.String"


def has_static_method(class_: str, method: str, *takes: str) -> bool:
    """Whether the JVM has a public method that takes objects of these classes, or an `int`."""
    return _has(get_active_spark_context()._jvm, class_, method, takes)


@lru_cache
def _has(jvm: Any, class_: str, method: str, takes: tuple[str, ...]) -> bool:
    """Every JVM is asked once: what it can load stays."""
    try:
        methods = jvm.java.lang.Class.forName(class_).getMethods()
    except Py4JJavaError:  # it is not there, or lacks what it needs
        return False
    return any(
        each.getName() == method
        and [str(type_.getName()) for type_ in each.getParameterTypes()] == [*takes]
        for each in methods
    )


class StaticMethods:
    """Calls of static methods, each over what the last one gave; NULL where the column is."""

    def __init__(self, column: Any) -> None:
        self._jvm: Any = get_active_spark_context()._jvm
        self._sql: Any = self._jvm.org.apache.spark.sql
        self._value: Any = self._sql.classic.ExpressionUtils.expression(column._jc)

    def call(self, class_: str, method: str, result: str) -> StaticMethods:
        """Call `class_.method`, which gives an object of the class `result`."""
        return self._call(class_, method, self._sql.types.ObjectType(self._class(result)))

    def text(self) -> Column:
        """Return what is a string of Java's by now as a column of text."""
        from pyspark.sql.classic.column import Column as ClassicColumn

        string = self._sql.types.DataTypes.StringType
        self._call("org.apache.spark.unsafe.types.UTF8String", "fromString", string)
        return ClassicColumn(self._sql.classic.ExpressionUtils.column(self._value))

    def _call(self, class_: str, method: str, type_: Any) -> StaticMethods:
        seq, none = self._jvm.PythonUtils.toSeq, self._jvm.scala.Option.empty()
        operands, types = seq([self._value]), seq([])
        self._value = self._sql.catalyst.expressions.objects.StaticInvoke(
            self._class(class_), type_, method, operands, types, True, True, True, none
        )
        return self

    def _class(self, name: str) -> Any:
        return self._jvm.java.lang.Class.forName(name)
