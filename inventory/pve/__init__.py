"""A Proxmox node through its API: verified, its refusals explained, its tasks followed."""
