"""The commands `compare`, `history`, `accept` and `baseline`: archived runs held against each other."""
