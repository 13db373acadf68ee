"""The scorer in JavaScript: parts that are written into the modules of `to_js`, one after the other.

Each is an ES module; imports of each other are left out of the one module that is written.
"""
