"""Rows only: what each framework provides, defaults to, and never had."""
