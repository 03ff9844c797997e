"""The ladder: real vLLM of several log eras, served on the CPU, and what each really prints."""
