"""Runs in a Postgres database."""
