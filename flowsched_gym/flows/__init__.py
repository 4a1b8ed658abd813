"""Flows, what changes links meanwhile, and what became of the flows: for fluid and packets alike."""
