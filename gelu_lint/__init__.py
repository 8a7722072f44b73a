"""gelu-lint: which function is this GELU?"""

__version__ = "0.1.0"
