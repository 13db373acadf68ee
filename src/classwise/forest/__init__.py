"""Forests: trees that are grown once, counts of their leaves that add up, and what is believed of a leaf."""
