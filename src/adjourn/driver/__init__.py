"""The one loop. It knows `Store` and `Program`, nothing else."""
