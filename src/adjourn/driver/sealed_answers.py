"""Secrets among answers: sealed before an answer is recorded, opened for the body that asked."""

from typing import Any, cast

from adjourn.core.codec import encode
from adjourn.core.secret_places import SHOWN, at_secrets, has_secrets, looks_sealed, unsealable
from adjourn.errors import Invalid, InvalidAnswer, InvalidDefinition
from adjourn.stores.secret_keys import ring_from_environment


def check_askable(schema: Any, what: str) -> None:
    """Raise `InvalidDefinition` for a schema whose secrets cannot be sealed."""
    if not has_secrets(schema):
        return
    if (other := unsealable(schema)) is not None:
        raise InvalidDefinition(
            f"{what} asks for a secret that is no string: {other!r:.80}",
            advice="ask for a string, {'type': 'string', 'writeOnly': True}, and read it in the body",
        )
    try:
        ring_from_environment()
    except InvalidDefinition as error:
        raise InvalidDefinition(
            f"{what} asks for a secret: {error.what}", advice=error.advice
        ) from None


def opened_answer(schema: Any, value: Any) -> tuple[Any, list[str]]:
    """An answer as the person gave it, and the secrets in it; raises `Invalid` for one that was
    sealed for something else, or with a key that is not here."""
    hidden: list[str] = []

    def opened(given: Any, name: str) -> Any:
        if looks_sealed(given):
            given = ring_from_environment().open(given, name)
        if isinstance(given, str):
            hidden.append(given)
        return given

    return at_secrets(schema, value, opened), hidden


def sealed_answer(schema: Any, value: Any, question: str) -> Any:
    """An answer as it is recorded. The same answer to the same question is the same string: a
    request that comes again is known again.

    Args:
        schema: of the question.
        value: the answer, opened.
        question: what it answers, unique in the store.
    """
    try:
        ring = ring_from_environment()
    except InvalidDefinition as error:
        raise Invalid(
            f"the question {question!r} asks for a secret: {error.what}",
            advice=error.advice,
            consequence="nothing was recorded, the question stays open",
        ) from None
    return at_secrets(schema, value, lambda text, name: ring.seal(text, name, once=question))


def silent(error: InvalidAnswer, what: str, shown: Any) -> InvalidAnswer:
    """Why an answer does not fit, without a secret that it holds.

    Args:
        error: why.
        what: what does not fit, in words.
        shown: the answer without its secrets.
    """
    place: tuple[Any, ...] = getattr(error, "place", ())
    for step in place:
        if isinstance(shown, dict) and step in shown:
            shown = cast("dict[str, Any]", shown)[step]
        elif isinstance(shown, list) and isinstance(step, int):
            shown = cast("list[Any]", shown)[step]
    if place and SHOWN not in encode(shown).decode():  # what it quotes holds no secret
        return error
    where = "".join(f"[{step!r:.80}]" for step in place)
    reason = "it does not fit its schema; it is not shown, because it holds a secret"
    return InvalidAnswer(
        f"{what}{where}: {reason}",
        consequence="nothing was recorded, the question stays open",
        place=place,
        reason=reason,
    )
