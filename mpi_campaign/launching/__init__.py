"""Programs between ReFrame and a launch: a rate-limited wire, nodes on one machine, several launches in one record."""
