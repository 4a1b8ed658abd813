"""Priority, rate and path of long flows (AuTO's agent of long flows, lRLA)."""
