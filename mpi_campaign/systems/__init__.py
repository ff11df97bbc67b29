"""What every systems/<system>/ shares, and how a new one is made."""
