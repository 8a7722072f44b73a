"""Recognisers: they turn source into facts, and judge nothing."""
