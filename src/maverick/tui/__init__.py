"""``maverick tui``: agents, runs and a live conversation on one screen of a terminal.

What is shown is decided without a terminal: ``ConversationModel`` makes blocks of a run's events, ``ConversationLayout``
makes lines of them. The widgets, which need Textual, only draw. Nothing here is loaded before it is used.
"""
