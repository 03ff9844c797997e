"""The practice ground's containers as real LXC ones: systemd, OpenSSH, a device cgroup, a network of their own."""
