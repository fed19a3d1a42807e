"""The Chat Completions API: of OpenAI at first, and now of every server that speaks it."""
