"""The practice ground: a Proxmox node, its containers and GPUs, and an engine, on loopback (see README.md)."""
