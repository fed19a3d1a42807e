"""Maverick in a terminal: commands, and the translation of a run's events to lines on a screen."""
