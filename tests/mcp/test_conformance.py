"""The page about conformance says what the campaign runs, and why not the rest."""

import re

from tests.mcp.conformance.campaign import APART, PAGE, PARTLY, VERSIONS, Scenario, scenarios

ROW = re.compile(r"\| (server|client) \| (\S+) \| (\S*) \| (\S*) \|")
LISTED = """Server scenarios (test against a server):
  - ping [2025-06-18,2025-11-25]
  - prompts-list [2025-06-18,2025-11-25,2026-07-28]
  - tasks-lifecycle [extension]

Client scenarios (test against a client):
  - tools_call [2025-06-18,2025-11-25,2026-07-28]

Authorization server scenarios (test against an authorization server):
  - authorization-code-grant [2025-11-25]
"""


def test_what_the_kit_lists_is_run_at_our_versions_or_apart_with_a_reason() -> None:
    ping, prompts, tasks, calls = scenarios(LISTED)
    assert ping == Scenario("server", "ping", ("2025-11-25",)) and not ping.why_not
    assert (prompts.why_not, calls.versions) == ("our server has no prompts", VERSIONS)
    assert tasks.why_not and not tasks.versions


def test_the_counts_of_the_page_are_those_of_its_rows() -> None:
    page = PAGE.read_text("utf-8")
    rows = ROW.findall(page)
    counts = [(name, count) for _, name, *found in rows for count in found if count]
    whole = [name for name, count in counts if len({*count.split("/")}) == 1]
    assert f"**{len(whole)} of {len(counts)} pass**" in page and len(counts) > 40
    assert {name for name, _ in counts} - {*whole} == {*PARTLY}, "what does not pass has its reason"
    for reasons in APART.values():
        assert all(why in page for why in reasons.values())
