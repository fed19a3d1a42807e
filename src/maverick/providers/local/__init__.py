"""Models in files, served by llama.cpp in a process of its own."""
