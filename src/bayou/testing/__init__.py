"""Laws that every model obeys."""
