"""What is read and written at a terminal: lines, prompts, keys."""
