"""Test doubles: the Messages API as strict as its documentation, and drivers for the real Claude Code."""

from __future__ import annotations
