"""Login by OpenID Connect, from the command line: the secret stands in a file or in the environment, and mistakes are named."""

from pathlib import Path
from typing import Any

import pytest

from adjourn.cli.oidc_options import SECRET, OidcOptions
from adjourn.errors import AdjournError

GIVEN: dict[str, Any] = {
    "issuer": "https://id.example.com", "client_id": "adjourn", "secret_file": "", "roles": ["ops=viewer of agent:a where b=c"],
    "claims": "email,groups",
}  # fmt: skip


def test_the_secret_is_read_from_a_file_or_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET, "from the environment")
    found = OidcOptions(**GIVEN).settings()
    assert found is not None
    assert (found.client_secret, found.roles) == ("from the environment", (("ops", "viewer of agent:a where b=c"),))
    file = tmp_path / "secret"
    file.write_text("from the file\n")
    with_file: dict[str, Any] = {**GIVEN, "secret_file": str(file)}
    found = OidcOptions(**with_file).settings()
    assert found is not None and found.client_secret == "from the file"


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": ""}, {"secret_file": "nowhere"}, {"roles": ["admin"]}, {"roles": []}, {"roles": ["ops=root"]}, {"claims": "email"},
        {"client_id": ""}, {"issuer": "http://id.example.com"},
    ],
)  # fmt: skip
def test_a_mistake_is_refused(wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SECRET, raising=False)
    with pytest.raises(AdjournError):
        OidcOptions(**GIVEN | wrong).settings()


def test_without_an_issuer_there_is_none() -> None:
    assert OidcOptions("", "", "", None, "email,groups").settings() is None
