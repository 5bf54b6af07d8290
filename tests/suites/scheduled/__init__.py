"""Tasks in scheduled jobs, on runners that keep nothing: `scripts/test scheduled`."""
