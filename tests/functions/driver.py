# SPDX-License-Identifier: Apache-2.0
"""Builds driver.c around the declared functions, with sanitizers, and calls them one by one."""

from __future__ import annotations

import ipaddress
import os
import subprocess
from pathlib import Path

from gigastream.gsql.regular_expressions import WITH_PATTERNS, compiled
from tests.functions.declarations import ROOT, Declaration, declarations, helpers

Value = bool | int | float | bytes | str

C_TYPES = {
    "bool": ("bool", "unsigned"),
    "ushort": ("uint16_t", "unsigned"),
    "uint": ("uint32_t", "unsigned"),
    "int": ("int32_t", "signed"),
    "ullong": ("uint64_t", "unsigned"),
    "llong": ("int64_t", "signed"),
    "float": ("double", "float"),
    "string": ("struct gs_string", "string"),
    "ip": ("uint32_t", "unsigned"),
    "ipv6": ("struct gs_inet", "inet"),
    "inet": ("struct gs_inet", "inet"),
    "timestamp": ("int64_t", "signed"),
}

FLAGS = [
    *("-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
]


def program(pattern: Value) -> bytes:
    """What the C of regular expressions is handed for a pattern."""
    return compiled(pattern.encode() if isinstance(pattern, str) else bytes(pattern)).encoded()  # type: ignore[arg-type]


class HandleError(Exception):
    """What a handle's constructor told the user."""


class Driver:
    """A running driver; `call` sends one request and waits for the answer."""

    def __init__(self, folder: Path, *, prepared: bool = True) -> None:
        self._prepared = prepared
        self._declarations = {d.suffix: d for d in (*declarations(), *helpers())}
        self._process = subprocess.Popen(
            [_compile(folder, tuple(self._declarations.values()))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},  # no function may depend on it
        )

    def call(self, suffix: str, *arguments: Value) -> Value | None:
        """The value of `gs_function_<suffix>(arguments)`, or None where it has none.

        Strings are bytes or str; addresses are text, results too. Raises HandleError.
        """
        declaration = self._declarations[suffix]
        if self._prepared and declaration.symbol in WITH_PATTERNS:
            arguments = (arguments[0], program(arguments[1]))
        pairs = zip(declaration.arguments, arguments, strict=True)
        words = [_to_word(type_name, value) for type_name, value in pairs]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join([suffix, *words]) + "\n")
        self._process.stdin.flush()
        return _from_answer(declaration.result, self._process.stdout.readline().rstrip("\n"))

    def close(self) -> int:
        """The exit code: not 0 if a sanitizer found something (a leak, at the latest)."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        return self._process.wait()


def _compile(folder: Path, functions: tuple[Declaration, ...]) -> Path:
    (folder / "calls.h").write_text("".join(_c_case(d) for d in functions))
    program = folder / "driver"
    includes = ["-I", str(ROOT / "csrc" / "abi"), "-I", str(folder)]
    source = str(Path(__file__).with_name("driver.c"))
    subprocess.run(["cc", *FLAGS, *includes, source, "-o", str(program), "-lm"], check=True)
    return program


def _c_case(function: Declaration) -> str:
    """The branch that reads the arguments, calls as generated code does and prints the result."""
    reads = [_c_read(i, type_name) for i, type_name in enumerate(function.arguments)]
    frees = [f"free((void *)(uintptr_t)a{i}.bytes);" for i in _strings(function)]
    body = [*reads, *_c_handle(function, frees), *_c_call(function), *frees, "return;"]
    lines = "".join(f"        {line}\n" for line in body)
    return f'    if (strcmp(suffix, "{function.suffix}") == 0) {{\n{lines}    }}\n'


def _strings(function: Declaration) -> list[int]:
    return [i for i, type_name in enumerate(function.arguments) if type_name == "string"]


def _c_read(index: int, type_name: str) -> str:
    c_type, kind = C_TYPES[type_name]
    cast = "" if c_type.startswith("struct") else f"({c_type})"
    return f"{c_type} a{index} = {cast}read_{kind}();"


def _c_handle(function: Declaration, frees: list[str]) -> list[str]:
    if function.handle is None:
        return []
    make = f"gs_handle_{function.suffix}_new(a{function.handle}, message, sizeof message)"
    failure = f'if (handle == NULL) {{ printf("! %s\\n", message); {" ".join(frees)} return; }}'
    return ["char message[512];", f"void *handle = {make};", failure]


def _c_call(function: Declaration) -> list[str]:
    """Through a pointer of the type that the rules ask for: a wrong prototype does not compile."""
    result_type, kind = C_TYPES[function.result]
    arguments = [f"a{i}" for i in range(len(function.arguments))]
    types = [C_TYPES[type_name][0] for type_name in function.arguments]
    if function.handle is not None:
        arguments[function.handle], types[function.handle] = "handle", "const void *"
    if function.result == "string":
        arguments, types = ["scratch", *arguments], ["struct gs_scratch *", *types]
    release = [] if function.handle is None else [f"gs_handle_{function.suffix}_free(handle);"]
    if function.partial:
        pointer = f"bool (*f)({', '.join([*types, result_type + ' *'])}) = {function.symbol};"
        call = f"bool has_value = f({', '.join([*arguments, '&result'])});"
        show = f'if (has_value) print_{kind}(result); else printf("none\\n");'
        return [f"{result_type} result;", pointer, call, show, *release]
    pointer = f"{result_type} (*f)({', '.join(types)}) = {function.symbol};"
    call = f"{result_type} result = f({', '.join(arguments)});"
    return [pointer, call, f"print_{kind}(result);", *release]


def _to_word(type_name: str, value: Value) -> str:
    if type_name == "string":
        data = value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[arg-type]
        return data.hex() or "-"
    if type_name == "ip":
        return str(int(ipaddress.IPv4Address(value)))
    if type_name in ("ipv6", "inet"):
        return inet_bytes(str(value)).hex()
    return float(value).hex() if type_name == "float" else str(value)


def inet_bytes(text: str) -> bytes:
    """The 16 bytes of an INET: an IPv4 address as ::ffff:a.b.c.d."""
    address = ipaddress.ip_address(text)
    if address.version == 6:
        return address.packed
    return bytes(10) + b"\xff\xff" + address.packed


def inet_text(data: bytes) -> str:
    """The inverse of inet_bytes."""
    address = ipaddress.IPv6Address(data)
    return str(address.ipv4_mapped or address)


def _from_answer(type_name: str, line: str) -> Value | None:
    if line == "none":
        return None
    kind, _, text = line.partition(" ")
    if kind == "!":
        raise HandleError(text)
    assert kind == "=", f"the driver ended: {line!r}"
    if type_name in ("string", "ipv6", "inet"):
        data = b"" if text == "-" else bytes.fromhex(text)
        return data if type_name == "string" else inet_text(data)
    if type_name == "ip":
        return str(ipaddress.IPv4Address(int(text)))
    if type_name == "float":
        return float.fromhex(text)
    return bool(int(text)) if type_name == "bool" else int(text)
