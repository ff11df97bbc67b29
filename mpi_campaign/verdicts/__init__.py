"""The commands `compare`, `history`, `accept` and `baseline`: verdicts from several archived runs."""
