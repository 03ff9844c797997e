"""What is wanted (typed, validated) and how to reach it."""
