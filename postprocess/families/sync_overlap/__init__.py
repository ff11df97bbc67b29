"""The family `sync_overlap`: a message to a receiver that is late (White & Bova 1999)."""
