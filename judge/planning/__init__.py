"""How many studies, candidates, readings and readers a result needs, from a pilot's runs."""
