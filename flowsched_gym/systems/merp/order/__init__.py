"""Which of the flows that compete goes first (MERP, section 4)."""
