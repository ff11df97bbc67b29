"""The command line: what a person types, and the commands that are small."""
