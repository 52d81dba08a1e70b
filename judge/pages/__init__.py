"""The pages of a run, a comparison and a validation, as files and in the service."""
