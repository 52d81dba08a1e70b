"""Passports of judges: what is known of one, from folders that users have."""
