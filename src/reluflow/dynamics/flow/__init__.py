"""The exact gradient flow, from event to event."""
