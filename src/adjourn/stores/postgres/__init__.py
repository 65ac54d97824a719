"""Journals in a PostgreSQL database, for several machines. Needs the extra `postgres`."""
