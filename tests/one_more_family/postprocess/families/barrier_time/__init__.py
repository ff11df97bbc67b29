"""How long barriers take."""
