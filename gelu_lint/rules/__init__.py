"""One file a rule: its docs, check, examples and evidence."""
