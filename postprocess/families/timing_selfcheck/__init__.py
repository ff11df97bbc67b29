"""How steady a machine is, and what can be concluded on it."""
