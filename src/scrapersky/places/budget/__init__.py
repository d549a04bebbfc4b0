"""Budget of place providers: caps, charges and the cost ledger."""
