"""The pages of a run, a comparison, a stress test and a validation, as files and in the service."""
