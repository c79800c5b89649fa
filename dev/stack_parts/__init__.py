"""Modules of dev/stack, one per noun. Standard library only, Python 3.9 and later."""
