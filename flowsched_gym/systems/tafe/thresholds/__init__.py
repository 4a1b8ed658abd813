"""The thresholds at which TAFE's feedback queues demote tasks (TAFE, sections IV-A and V-B)."""
