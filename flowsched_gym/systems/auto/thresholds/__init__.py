"""The thresholds at which feedback queues demote flows (AuTO's agent of short flows, sRLA)."""
