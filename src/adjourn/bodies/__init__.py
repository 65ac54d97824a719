"""What runs for a call: the bodies of tools and chunks, what they may use, how they end, and how
they are taken back."""
