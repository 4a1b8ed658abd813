"""Rules of tasks: stages of flows before they send, and the order of tasks."""
