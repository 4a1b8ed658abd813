"""Windows, tokens, and bytes on their way."""
