"""Rows wherever they are: what their columns hold, tables in memory, files, queries, databases; and rows written."""
