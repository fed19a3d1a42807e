"""Maverick: one agent runtime for Python."""
