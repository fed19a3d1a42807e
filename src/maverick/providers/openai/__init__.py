"""The Chat Completions API of OpenAI, and of every server that speaks it."""
