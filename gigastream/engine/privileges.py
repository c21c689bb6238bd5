# SPDX-License-Identifier: Apache-2.0
"""What a capture needed to be opened is given up before the first packet is read."""

from __future__ import annotations

import os
import pwd

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import check
from gigastream.sources import SourceError


def find_user(name: str) -> tuple[int, int]:
    """The ids of a user and its group. SourceError where there is none, or where it is root."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise SourceError(f"there is no user '{name}'", "--user NAME") from None
    if found.pw_uid == 0 or found.pw_gid == 0:
        raise SourceError(f"'{name}' is privileged: a capture does not go on as root")
    return found.pw_uid, found.pw_gid


def gain_no_privileges() -> None:
    """From now on nothing is gained that is not there already. EngineError.

    Call it before there is a second thread: those that are made then inherit it.
    """
    error = ffi.new("struct gs_error *")
    check(lib.gs_gain_no_privileges(error), error)


def give_up_privileges(user: str) -> None:
    """Keep no capability, and be `user` if we are root. For good. EngineError.

    Call it after gain_no_privileges, with all modules imported that are needed: the user may not be
    able to read them.
    """
    uid, gid = find_user(user) if os.geteuid() == 0 else (os.getuid(), os.getgid())
    error = ffi.new("struct gs_error *")
    check(lib.gs_give_up_privileges(uid, gid, error), error)
