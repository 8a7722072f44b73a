"""Numbers and nothing else: exact flavours, their derivatives and how far apart they are."""
