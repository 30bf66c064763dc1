"""Files that are whole or not there: atomic writes, models, tables."""
