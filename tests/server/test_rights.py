"""The rule about rights on some runs, and how a grant is written."""

import pytest

from adjourn.errors import Conflict, Invalid
from adjourn.server import Identity, Users
from adjourn.server.rights import RoleGrant, RunPlace, kept_grants, parse_grant

REFUND = RunPlace("refunds", "chat-7", {"team": "eu", "tenant": "acme"})
WRITTEN = {
    "approver of agent:refunds where team=eu": RoleGrant("approver", "refunds", labels=(("team", "eu"),)),
    "viewer of agent:refunds": RoleGrant("viewer", "refunds"),
    "operator of session:chat 7": RoleGrant("operator", session="chat 7"),
    "admin where team=eu and region=a=b": RoleGrant("admin", labels=(("team", "eu"), ("region", "a=b"))),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_grant_is_read_as_it_is_written(text: str) -> None:
    assert parse_grant(text) == WRITTEN[text]
    assert str(parse_grant(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "approver", "root of agent:x", "run of agent:x", "none of agent:x", "approver of x", "approver of tool:x",
        "approver of agent:", "approver where team", "approver where =eu", "approver where team=", "approver of agent:x where ",
        "viewer  of agent:x", "viewer of agent:x\nadmin where a=b", "Viewer of agent:x",
    ],
)  # fmt: skip
def test_what_is_no_grant_is_refused_and_kept_gives_nothing(text: str) -> None:
    with pytest.raises(Invalid):
        parse_grant(text)
    if "\n" not in text:
        assert kept_grants(f"{text}\nviewer of agent:refunds") == (RoleGrant("viewer", "refunds"),)


@pytest.mark.parametrize(
    ("who", "reads", "decides"),
    [
        (Identity("a", "viewer"), True, False),
        (Identity("a", "none"), False, False),
        (Identity("a", "unheard-of"), False, False),
        (Identity("a", "none", grants=(RoleGrant("approver", "refunds"),)), True, True),
        (Identity("a", "none", grants=(RoleGrant("approver", "refund"),)), False, False),
        (Identity("a", "none", grants=(RoleGrant("approver", "refunds", labels=(("team", "eu"),)),)), True, True),
        (Identity("a", "none", grants=(RoleGrant("approver", "refunds", labels=(("team", "us"),)),)), False, False),
        (
            Identity("a", "none", grants=(RoleGrant("approver", "refunds", labels=(("team", "eu"), ("x", "y"))),)),
            False,
            False,
        ),
        (Identity("a", "none", grants=(RoleGrant("viewer", session="chat-7"),)), True, False),
        (Identity("a", "none", grants=(RoleGrant("viewer", session="chat-8"),)), False, False),
        (Identity("a", "viewer", grants=(RoleGrant("approver", "refunds"),)), True, True),
        (Identity("a", "admin", tenant="acme"), True, True),
        (Identity("a", "admin", tenant="globex"), False, False),
        (Identity("a", "none", grants=(RoleGrant("admin", "refunds"),), tenant="globex"), False, False),
        (Identity("a", "none", grants=(RoleGrant("admin", "refunds"),), tenant="acme"), True, True),
    ],
)
def test_who_has_a_right_on_a_run(who: Identity, reads: bool, decides: bool) -> None:
    assert (who.may_on("read", REFUND), who.may_on("decide", REFUND)) == (reads, decides)


def test_a_tenant_s_people_have_no_right_everywhere() -> None:
    assert Identity("a", "admin").may_everywhere("admin")
    assert not Identity("a", "admin", tenant="acme").may_everywhere("read")
    assert not Identity("a", "none", grants=(RoleGrant("admin", "refunds"),)).may_everywhere("read")
    assert not Identity("a", "admin", tenant="acme").may_on("read", RunPlace("x", "", {}))


def test_grants_and_tenant_are_kept_and_changed() -> None:
    users = Users()
    users.add("root", "admin")
    users.add("ana", "none", grants=["approver of agent:refunds where team=eu"], tenant="acme")
    found = users.get("ana")
    assert found is not None
    assert [str(grant) for grant in found.grants] == ["approver of agent:refunds where team=eu"]
    assert users.set_grants("ana", []).grants == ()
    assert users.set_tenant("ana", "").tenant == ""
    with pytest.raises(Invalid):
        users.set_grants("ana", ["root of everything"])
    with pytest.raises(Invalid):
        users.set_tenant("ana", "a\nb")
    users.close()


def test_the_last_admin_of_everything_stays_one() -> None:
    users = Users()
    users.add("root", "admin")
    users.add("local", "admin", tenant="acme")
    with pytest.raises(Conflict, match="last admin"):
        users.set_tenant("root", "acme")
    with pytest.raises(Conflict, match="last admin"):
        users.remove("root")
    users.remove("local")
    users.close()


def test_an_end_user_s_key_is_for_one_session_and_nobody_in_a_list() -> None:
    users = Users()
    found = users.by_key(users.session_key("chat-7"))
    assert found is not None
    assert (found.role, found.grants) == ("none", (RoleGrant("viewer", session="chat-7"),))
    assert users.all() == []
    for role in ("approver", "admin", "none"):
        with pytest.raises(Invalid):
            users.session_key("chat-7", role)
    with pytest.raises(Invalid):
        users.session_key("chat-7 where team=eu")
    users.close()
