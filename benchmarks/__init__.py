"""What Maverick costs: measured, and printed beside what it may cost. Run with ``python -m benchmarks``."""
