"""The two APIs of OpenAI: Responses, and Chat Completions, which many other servers speak too."""
