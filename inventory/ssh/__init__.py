"""A machine through ssh: its key verified, questions asked, files moved, long work followed."""
