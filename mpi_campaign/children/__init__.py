"""Programs of others that we start: what each gets, how one is asked, and why one failed."""
