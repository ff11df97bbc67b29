"""The networks over which ranks communicate, as a partition of a system names them."""
