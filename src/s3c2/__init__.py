"""Clustering by example: learn clusters from pairs judged the same or different."""
