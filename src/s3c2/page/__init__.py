"""The page that asks "same or different?", its answers on disk, and training beside it."""
