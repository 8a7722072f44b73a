"""``python -m gelu_lint``."""

from gelu_lint.cli import entry

if __name__ == "__main__":
    entry()
