"""Which of the flows that are ready goes next (TAFE, section IV)."""
