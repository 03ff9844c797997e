"""The drafter's configuration: read, checked, rendered."""
