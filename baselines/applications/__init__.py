"""What the commands share: how an application starts and ends, comparisons, runs of many jobs, progress."""
