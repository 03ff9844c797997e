"""The GPU tier: specrail's own roles on the machine with the GPU itself, without Proxmox and without ssh."""
