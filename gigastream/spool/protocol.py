# SPDX-License-Identifier: Apache-2.0
"""What a server of spools is asked, and how it answers.

A question is a Flight action, whose body is a JSON object: the spool's name, and the address of a
file or a folder in it. The answer's first message is a JSON object, `{}` or what is wrong; those
behind it are bytes, a file's or those of a JSON value. No Arrow message is among them, so that
nobody's schema and nobody's compressed buffer is read before its checksum is.
"""

from __future__ import annotations

SCHEMES = ("grpc+tls", "grpc")
"""Of URLs; the second is without TLS."""

LIST = "list"
"""The names of the spools."""
NAMES = "names"
SIZE = "size"
SIGNATURE = "signature"
READ = "read"
"""Bytes of a file: at most `size_bytes` from `offset`."""
HELD = "held"
"""Whether somebody writes the spool."""
COMMIT = "commit"
"""Of a `reader`: it is done with the segments below `segment`, and never read `gone`, `skipped`."""
PASSED = "passed"
"""What a `reader` has said so."""
ACTIONS = {
    LIST: "the spools that are offered",
    NAMES: "the names in a folder of a spool",
    SIZE: "a file's size in bytes",
    SIGNATURE: "what changes when a file is replaced",
    READ: "bytes of a file",
    HELD: "whether somebody writes a spool",
    PASSED: "what a reader has said with its commits",
    COMMIT: "what a reader is done with",
}

MAX_REQUEST_BYTES = 8 << 10
CHUNK_BYTES = 1 << 20
MAX_MESSAGE_BYTES = 2 * CHUNK_BYTES
MAX_VALUE_BYTES = 4 << 20
"""Of an answer that is a JSON value."""
MAX_OBJECT_BYTES = 64 << 20
"""Of a JSON file of a served spool."""

GONE = "gone"
"""There is no such file."""
NO_FILE = "no-file"
REFUSED = "refused"
"""Anything else that is wrong, in the server's words."""
