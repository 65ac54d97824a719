"""What holds for every test: asyncio, no keys of the developer's own, no deadline on property tests."""

import os

import pytest
from hypothesis import settings

SECRETS = ("ADJOURN_SECRET", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY")

# Seconds on a busy machine say nothing about the code; in CI the examples are the same every time.
settings.register_profile("adjourn", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("adjourn")


def pytest_configure(config: pytest.Config) -> None:
    for name in SECRETS:
        os.environ.pop(name, None)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
