"""Asking a model over HTTP: the transport, server-sent events, JSON, and what services say when they fail."""
