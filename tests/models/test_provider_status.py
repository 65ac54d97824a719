"""What the answer of a provider says of an error."""

from types import SimpleNamespace
from typing import Any

import pytest

from adjourn.guests import provider_errors
from adjourn.models.provider_status import classified, retry_after


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (408, ("timeout", True)),
        (429, ("rate_limit", True)),
        (401, ("auth", False)),
        (418, ("invalid_request", False)),
        (500, ("server", True)),
    ],
)
def test_a_status_says_what_went_wrong_and_whether_it_may_pass(status: int, said: tuple[str, bool]) -> None:
    assert classified(status) == said


@pytest.mark.parametrize(
    ("told", "seconds"), [("1.5", 1.5), ("0", 0.0), ("-1", None), ("inf", None), ("nan", None), ("soon", None)]
)
def test_only_a_number_of_seconds_says_when_to_try_again(told: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": told}) == seconds
    assert retry_after({}) is None and retry_after(None) is None


def test_the_model_of_a_guest_is_not_waited_for_without_end() -> None:
    class Busy(Exception):
        status_code = 429
        response = SimpleNamespace(headers={"retry-after": "inf"})

    found = provider_errors.failure("model", Busy("busy"))
    assert (found.kind, found.transient, found.retry_after) == ("rate_limit", True, None)


@pytest.mark.parametrize(
    "headers", [None, {}, {"retry-after": None}, {"retry-after": b"x"}, [("retry-after", "5")], 5, "5"]
)
def test_headers_of_any_library_are_read_or_say_nothing(headers: Any) -> None:
    assert retry_after(headers) is None
