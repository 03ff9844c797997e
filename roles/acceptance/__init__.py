"""Evidence of accepted drafts: windows, statistics, verdict, diagnosis."""
