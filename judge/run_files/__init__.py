"""The files of a run folder as types: manifest, summary, and one record per study."""
