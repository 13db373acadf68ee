"""The scorer in Python: parts that are written into the files of `to_python`, one after the other.

They import NumPy and the standard library alone; imports of each other are left out of the file.
"""
