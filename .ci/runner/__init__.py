"""Runs the steps of .ci/table.py and keeps their times. Uses nothing but Python 3.9 and git."""
