"""Notifications on their way out: webhooks, chat and mail."""
