"""The door that Claude Code's hook events come through."""
