"""Tenon: persistent memory for Claude Code, in the standard library alone. README.md beside this file is the map."""

__version__ = "0.1.0"
