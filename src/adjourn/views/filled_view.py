"""A view, filled from what it is a view of."""

from typing import Any, TypeVar

import msgspec

View = TypeVar("View", bound=msgspec.Struct)


def filled(view: type[View], source: object, **own: Any) -> View:
    """A view of something: each field as `own` says, or else as the source has it under that name.

    Args:
        view: the struct to make.
        source: what it shows. A field that it has not, and `own` neither, is an `AttributeError`.
        own: the fields that are not simply taken over.
    """
    for name in view.__struct_fields__:
        if name not in own:
            own[name] = getattr(source, name)
    return view(**own)
