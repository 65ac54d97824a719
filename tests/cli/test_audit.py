"""`adjourn audit`: look at it, seal it, anchor it, check it, carry it elsewhere."""

import asyncio
import json
import shlex
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli import shop
from tests.cli.conftest import Run, advance, begin

from adjourn import Agent, Policy
from adjourn.stores.sqlite.connection import connect
from adjourn.testing import ScriptedModel, call

SECRET = "0123456789abcdef" * 2


def change(sql: str) -> None:
    with closing(connect("adjourn.db")) as db:
        db.execute(sql)


def test_what_there_is_is_said_as_what_can_be_known(adjourn: Run, waiting: str) -> None:
    said = adjourn("audit", "verify")
    assert (said.code, said.err) == (0, "")
    assert "Consistent up to seal 1 (" in said.out and "Nothing is signed" in said.out
    assert "anyone who can write the file can rewrite it" in said.out
    adjourn("pause", waiting)
    assert "1 line and 1 record since then are chained, not sealed" in adjourn("audit", "verify").out
    data = adjourn("audit", "verify", "--json").json
    assert (data["broken"], data["seal"], data["signed_by"], data["lines"]) == ([], 1, None, 1)


def test_a_run_that_was_deleted_with_all_its_lines_is_missed(adjourn: Run, waiting: str) -> None:
    change(
        f"delete from journal; delete from interrupt; delete from run; delete from audit where scope = '{waiting}';"
        f"delete from audit_head where scope = '{waiting}'; delete from touched;"
    )
    said = adjourn("audit", "verify")
    assert said.code == 1
    assert f"journal of {waiting}, line" in said.out and "seal 1" in said.out


def test_an_anchor_proves_what_was_there_and_a_rewritten_store_does_not_pass(adjourn: Run, waiting: str) -> None:
    said = adjourn("audit", "anchor")
    assert said.code == 0 and said.out.startswith("adjourn-anchor/1 store=") and "not signed" in said.err
    Path("anchor.txt").write_text(f"filed on Monday:\n{said.out}")
    adjourn("say", waiting, "hurry")
    for since in ("anchor.txt", said.out.strip()):
        checked = adjourn("audit", "verify", "--since", since)
        assert checked.code == 0 and "is still there" in checked.out
    as_json = adjourn("audit", "anchor", "--json").out
    assert adjourn("audit", "verify", "--since", as_json).code == 0
    change("delete from seal; delete from touched; insert into touched select scope, 0 from audit_head")
    adjourn("audit", "seal")
    assert adjourn("audit", "verify").code == 0, "anyone who can write the file can rewrite it"
    checked = adjourn("audit", "verify", "--since", "anchor.txt")
    assert checked.code == 1 and "anchor 1: " in checked.out
    assert adjourn("audit", "verify", "--since", "nonsense").code == 2


def test_an_anchor_may_come_by_a_pipe(process: Run, waiting: str) -> None:
    anchor = process("audit", "anchor").out
    assert process("audit", "verify", "--since", "-", typed=anchor).code == 0
    assert process("audit", "verify", "--since", "-", typed="").code == 2


def test_a_secret_signs_and_without_it_nothing_is_sealed_any_more(
    adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJOURN_AUDIT_SECRET", SECRET)
    assert "signed by" in adjourn("audit", "seal").out
    assert "nothing to seal" in adjourn("audit", "seal").out
    assert "signed by" in adjourn("audit", "verify").out and "kid=" in adjourn("audit", "anchor").out
    monkeypatch.delenv("ADJOURN_AUDIT_SECRET")
    adjourn("pause", waiting)
    said = adjourn("audit", "seal")
    assert said.code == 2 and "signed by" in said.err and "--audit-key" in said.err
    assert "was not checked" in adjourn("audit", "verify").out
    monkeypatch.setenv("ADJOURN_AUDIT_SECRET", "x" * 32)
    said = adjourn("audit", "verify")
    assert said.code == 1 and "none of the given keys" in said.out
    monkeypatch.setenv("ADJOURN_AUDIT_SECRET", "short")
    said = adjourn("audit", "verify")
    assert said.code == 2 and "at least 32" in said.err


def test_a_key_file_signs_and_its_public_line_checks(adjourn: Run, waiting: str) -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from base64 import b64encode

    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ed25519.Ed25519PrivateKey.generate()
    Path("audit.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    Path("audit.pub").write_text(f"ed25519 {b64encode(key.public_key().public_bytes_raw()).decode()} audit\n")
    anchor = adjourn("audit", "anchor", "--audit-key", "audit.pem", "--json").json
    assert anchor["kid"] and anchor["sig"]
    said = adjourn("audit", "verify", "--audit-key", "audit.pub", "--since", json.dumps(anchor))
    assert said.code == 0 and f"signed by {anchor['kid']}" in said.out
    assert adjourn("audit", "verify", "--audit-key", "absent.pem").code == 2
    said = adjourn("worker", f"{shop.__file__}:refunds", "--audit-key", "audit.pub")
    assert said.code == 2 and "cannot sign" in said.err


def test_an_export_goes_on_where_the_last_one_ended(adjourn: Run, waiting: str) -> None:
    first = [json.loads(line) for line in adjourn("audit", "export").out.splitlines()]
    assert [(x["type"], x["k"]) for x in first] == [("line", 1), ("seal", 1)]
    assert first[0]["entry"]["verb"] == "start"
    assert adjourn("audit", "export", "--after", "1").out == ""
    adjourn("pause", waiting, "--by", "ana")
    adjourn("audit", "seal")
    said = adjourn("audit", "export", "--after", "1")
    assert [json.loads(line)["type"] for line in said.out.splitlines()] == ["line", "seal"]
    assert "--after 2" in said.err
    assert adjourn("audit", "export", "--after", "9").code == 2


def test_lines_are_newest_first_in_words_and_filtered(adjourn: Run, waiting: str) -> None:
    adjourn("pause", waiting, "--by", "ana", "--reason", "lunch")
    adjourn("halt", "tool:x", "--reason", "incident", "--by", "bo")
    said = adjourn("audit").out.splitlines()
    assert "bo halted tool x: “incident”" in said[0] and "ana paused" in said[1] and " started " in said[-1]

    def verbs(*words: str) -> list[str]:
        return [line["verb"] for line in adjourn("audit", *words, "--json").json]

    assert verbs() == ["halt", "pause", "start"]
    assert verbs("--by", "ana") == verbs("--verb", "pause") == verbs("--text", "LUNCH") == ["pause"]
    assert verbs("--tool", "x") == ["halt"] and verbs(waiting) == ["pause", "start"]
    assert verbs("--since", "1h") == verbs("--until", "2999-01-01") == ["halt", "pause", "start"]
    assert verbs("--until", "1h") == verbs("--since", "2999-01-01") == verbs("--refused") == []
    first = adjourn("audit", "--limit", "1", "--json").json[0]["cursor"]
    assert verbs("--after", first) == ["pause", "start"]
    page = adjourn("audit", "--limit", "1")
    assert f"adjourn audit show --after {first} --limit 1" in page.err
    assert adjourn("audit", "--since", "yesterday").code == 2 and adjourn("audit", "--after", "x").code == 2
    table = adjourn("audit", "--csv").out.splitlines()
    assert table[0].startswith("at,by,verb") and len(table) == 4


def test_a_pipe_gets_whole_ids_as_from_every_other_list(adjourn: Run, waiting: str) -> None:
    for list_of in ("audit", "runs", "inbox"):
        assert waiting in adjourn(list_of).out, list_of


def test_the_next_page_is_one_of_the_same_list(adjourn: Run, waiting: str) -> None:
    for by, verb in (("ana", "pause"), ("bo", "resume"), ("ana", "pause")):
        assert adjourn(verb, waiting, "--by", by).code == 0
    hint = adjourn("audit", waiting, "--by", "ana", "--limit", "1").err
    typed = shlex.split(hint.partition("Older lines: adjourn ")[2])
    [older] = adjourn(*typed, "--json").json
    assert (older["by"], older["verb"], older["number"]) == ("ana", "pause", 2)


def test_the_security_log_is_shown_when_it_is_asked_for(adjourn: Run, waiting: str) -> None:
    adjourn("halt", "tool:x", "--reason", "incident", "--by", "ana")
    adjourn("unhalt", "tool:x", "--by", "bo")
    [line] = adjourn("audit", "--security", "--json").json
    assert (line["verb"], line["by"], line["scope"]) == ("unhalt", "bo", "tool:x")
    assert "bo lifted the halt of tool x" in adjourn("audit", "--security").out
    assert adjourn("audit", waiting, "--security").code == 2


def test_a_worker_seals_what_it_did_when_it_stops(process: Run, waiting: str) -> None:
    """Whoever started the run has closed its runtime."""
    assert process("audit", "verify", "--json").json["lines"] == 0


def test_a_verb_that_there_is_not_is_told(adjourn: Run, waiting: str) -> None:
    adjourn("deny", f"{waiting}:2.0?0", "--by", "ana")
    said = adjourn("audit", "--verb", "dney")
    assert said.code == 2 and "Did you mean 'deny'?" in said.err, said.err
    assert adjourn("audit", "--verb", "cancel").code == 0, "nobody has cancelled yet"


def test_a_decision_that_stands_and_one_that_follows_it_say_so(adjourn: Run) -> None:
    model = ScriptedModel(*([call("refund", order_id="1", cents=1)] for _ in range(2)), "Done.")
    agent = Agent("payer", model=model, tools=[shop.refund], policy=Policy([], default="ask"))
    [run] = asyncio.run(begin(agent))
    assert adjourn("approve", f"{run}:1.0?0", "--by", "ana", "--times", "3").code == 0
    asyncio.run(advance(agent, run=run))
    second, first = [line for line in adjourn("audit", "show", run).out.splitlines() if "approved" in line]
    assert "ana approved refund order_id 1, cents 1, standing for the same arguments, 3 times, in this run" in first
    assert "ana approved refund order_id 1, cents 1 by the standing decision 1.0?0" in second
