"""Tools with which an agent works on a folder: files, search, a shell, the web, a plan."""
