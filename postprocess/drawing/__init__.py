"""How numbers, names, tables, pages and pictures look, whatever they are of."""
