"""The Responses API of OpenAI, used without its memory: every request has the whole conversation."""
