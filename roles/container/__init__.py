"""The LXC container on its Proxmox node."""
