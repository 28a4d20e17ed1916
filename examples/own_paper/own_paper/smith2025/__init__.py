"""Smith (2025), an invented paper: all that is known of it."""
