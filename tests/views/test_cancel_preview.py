"""What a cancel undoes, in one set of words."""

import pytest

from adjourn.core.call import Phase
from adjourn.views.cancel_preview import CancelPreview, undo_words
from adjourn.views.run_view import CallView


def a_call(*, undo: bool) -> CallView:
    return CallView(
        call_id="1.0", tool="pay", path="", phase=Phase.INTENDED, effect="unsafe", arguments={}, result=None, undo=undo
    )


@pytest.mark.parametrize(
    ("done", "flying", "plain", "words"),
    [
        (0, 0, 0, ""),
        (0, 0, 1, ""),
        (2, 0, 1, "2"),
        (0, 1, 0, "1 in flight if it happens"),
        (2, 1, 0, "2, and 1 in flight if it happens"),
        (1, 2, 1, "1, and 2 in flight if they happen"),
    ],
)
def test_what_is_in_flight_and_can_be_undone_is_counted(done: int, flying: int, plain: int, words: str) -> None:
    preview = CancelPreview(
        in_flight=(*[a_call(undo=True)] * flying, *[a_call(undo=False)] * plain),
        undo=(a_call(undo=True),) * done,
        residue=(),
    )
    assert undo_words(preview) == words
