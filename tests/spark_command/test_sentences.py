# SPDX-License-Identifier: Apache-2.0
"""What workers say reaches a person once, whole, and is counted if it tells of a loss."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

from spark_sink.errors import heard_by, tell
from spark_sink.sentences import Sentences


def test_each_sentence_is_handed_on_once(tmp_path: Path) -> None:
    log, told = tmp_path / "log", list[str]()
    sentences = Sentences(log, told.append)
    sentences.look()
    log.write_bytes(b"WARN Java\ngigastream: a seg")
    sentences.look()
    assert told == []
    with log.open("ab") as stream:
        stream.write(b"ment is torn\n at org.apache\ngigastream: note: \xff has begun\n")
    sentences.look()
    sentences.look()
    assert told == ["a segment is torn", "\ufffd has begun"]
    assert sentences.losses == 1


def test_what_any_thread_tells_is_handed_on_and_counted(tmp_path: Path) -> None:
    told = list[str]()
    sentences = Sentences(tmp_path / "log", told.append)
    with heard_by(sentences.hear):
        for sentence in ("a segment is torn", "note: it has begun"):
            thread = Thread(target=tell, args=(sentence,))
            thread.start()
            thread.join()
    assert told == []
    sentences.look()
    assert (told, sentences.losses) == (["a segment is torn", "it has begun"], 1)


def test_what_an_older_job_said_is_not_said_again(tmp_path: Path) -> None:
    log, told = tmp_path / "log", list[str]()
    log.write_text("gigastream: old\n")
    sentences = Sentences(log, told.append)
    with log.open("a") as stream:
        stream.write("gigastream: new\n")
    sentences.look()
    assert told == ["new"]
