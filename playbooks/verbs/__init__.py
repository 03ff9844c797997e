"""Verbs and flags that belong together: `invoke bench.*`, `drafter.*`, `inventory.*`. tasks.py has the others."""
