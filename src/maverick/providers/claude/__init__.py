"""The Claude Messages API: our own client, and one on the official SDK."""
