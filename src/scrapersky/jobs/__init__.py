"""Jobs: what clients asked for and may poll."""
