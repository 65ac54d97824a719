"""The checks behind `adjourn doctor`."""
