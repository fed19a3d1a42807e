"""Agents as classes: the base class, what it is given, what it returns, and where it is registered."""
