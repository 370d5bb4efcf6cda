"""The files that ``xoff new`` writes, as templates."""
