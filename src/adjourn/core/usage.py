"""What model calls have used: tokens and cost."""

import msgspec


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Tokens and cost, added up over a run.

    Attributes:
        requests: model calls.
        input_tokens: tokens sent.
        output_tokens: tokens received.
        cache_read_tokens: tokens sent that the provider had cached.
        cost: in the currency of the provider's price list.
        estimated: a model call was cut off, so that the provider reported nothing.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cost: float = 0.0
    estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cost + other.cost,
            self.estimated or other.estimated,
        )

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens
