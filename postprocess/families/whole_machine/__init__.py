"""Which nodes, links and switches of a machine are slow, all measured at once."""
