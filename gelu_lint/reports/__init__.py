"""One file a report format, each with a ``render`` function."""
