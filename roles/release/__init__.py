"""Release folders, activation, confirmation, revert, lock and audit."""
