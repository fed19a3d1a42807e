"""The routes of the server, one module for each thing they are about."""
