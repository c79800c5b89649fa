"""The rooms of dev/stack, one file per noun. Standard library only, Python 3.9 and later."""
