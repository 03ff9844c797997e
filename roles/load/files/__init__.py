"""Results that lie in files: those of this tool and of other benchmarks."""
