"""The offline model of the chat: a small grammar for sentences about task lists, and no language model behind it.

It is honest about that: it says what it cannot do.
"""

from maverick.chat.offline.client import TaskModel
from maverick.chat.offline.grammar import Kind
from maverick.chat.offline.meaning import Meaning, meaning_of

__all__ = ["Kind", "Meaning", "TaskModel", "meaning_of"]
