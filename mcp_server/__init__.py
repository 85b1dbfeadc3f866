"""The door that a model's tool calls come through."""
