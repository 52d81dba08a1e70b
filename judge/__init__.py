"""Find out what radiology report-generation models get wrong."""
