"""What everything stands on: numbers, units, random numbers, files, errors and their wording."""
