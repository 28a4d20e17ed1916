"""The laboratory in the browser: a server on this machine only, and the page it serves."""
