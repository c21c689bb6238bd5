# SPDX-License-Identifier: Apache-2.0
"""Build the engine (csrc/) into the extension module gigastream.engine._native.

Metadata is in pyproject.toml. What Python sees of the engine (cffi's declarations) is in
gigastream/engine/build_native.py; which files are compiled, and how, is here.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import SetupError

ROOT = Path(__file__).resolve().parent
COMPILE = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-fvisibility=hidden", "-Wall", "-Wextra"]
# cffi's generated wrappers are not ours to mend.
COMPILE += ["-Wno-unused-parameter", "-Wno-missing-field-initializers"]
LINK = ["-ldl", "-lpthread"]


class BuildEngine(build_ext):
    """Compile all of csrc/ into the extension that cffi declared."""

    def build_extension(self, extension: Any) -> None:
        """Add the engine's files and flags, then build."""
        _require_python_headers()
        sanitize = _sanitizer_flags()
        headers = _files("csrc/**/*.h")
        extension.sources = list(dict.fromkeys([*extension.sources, *_files("csrc/**/*.c")]))
        extension.include_dirs = [*extension.include_dirs, "csrc", "csrc/abi"]
        extension.extra_compile_args = [*extension.extra_compile_args, *COMPILE, *sanitize]
        extension.extra_link_args = [*extension.extra_link_args, *LINK, *sanitize]
        extension.depends = [*extension.depends, *headers]
        super().build_extension(extension)


class BuildPython(build_py):
    """Put the ABI headers and the definition files into the package."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """Leave out what declares the engine: it reads csrc/, which is not installed."""
        found: list[tuple[str, str, str]] = super().find_package_modules(package, package_dir)
        return [module for module in found if module[1] != "build_native"]

    def run(self) -> None:
        """Copy the Python files, then what gigastream/paths.py looks for beside them."""
        super().run()
        if self.editable_mode:
            return  # they are found where they lie
        package = Path(self.build_lib) / "gigastream"
        for pattern, target in (("csrc/abi/*.h", "include"), ("configs/**/*", "configs")):
            _copy(pattern, package / target)


def _files(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))


def _copy(pattern: str, target: Path) -> None:
    base = ROOT / pattern.split("*", 1)[0]
    for path in sorted(ROOT.glob(pattern)):
        if path.is_file():
            copy = target / path.relative_to(base)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def _sanitizer_flags() -> list[str]:
    """Return what GIGASTREAM_SANITIZE (`address,undefined`, `thread`) asks for: `make sanitize`."""
    sanitizers = os.environ.get("GIGASTREAM_SANITIZE")
    if not sanitizers:
        return []
    return [
        f"-fsanitize={sanitizers}",
        "-fno-omit-frame-pointer",
        "-fno-sanitize-recover=undefined",
    ]


def _require_python_headers() -> None:
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        raise SetupError("Python.h is missing; on Debian: apt install python3-dev")


setup(
    cffi_modules=["gigastream/engine/build_native.py:ffibuilder"],
    cmdclass={"build_ext": BuildEngine, "build_py": BuildPython},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
