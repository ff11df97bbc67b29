"""What the papers found: a file of findings for each, read by `verdicts.findings`."""
