"""Orders of flows, and levels of feedback queues."""
