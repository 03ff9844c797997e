"""How many speculative tokens pay: from a few measured points to the speed at every number of them."""
