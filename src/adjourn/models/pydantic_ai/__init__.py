"""Real providers, through pydantic-ai. Nothing of it is loaded before the first request."""
