"""From what Proxmox has in a container's config to what LXC is told; runs anywhere."""

from tests.lab.lxc import config, template
from tests.lab.lxc.bed import Network

COMMON = """\
lxc.cgroup2.devices.deny = a
lxc.cgroup2.devices.allow = c 1:3 rwm
lxc.mount.auto = cgroup:mixed proc:mixed sys:mixed
"""
PVE = {
    "hostname": "ct129",
    "rootfs": "local-lvm:vm-129-disk-0,size=64G",
    "net0": "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,ip=198.51.100.3/28,gw=198.51.100.1,type=veth",
    "unprivileged": 1,
    "dev0": "/dev/nvidia0,mode=0666",
    "dev1": "path=/dev/nvidiactl",
    "mp0": "/tank/models,mp=/mnt/models,ro=1",
    "mp1": "local-lvm:vm-129-disk-1,mp=/mnt/volume",
}


def told(pve: dict[str, object]) -> list[str]:
    wanted = config.read(pve)
    return config.text(
        wanted,
        folder="/run/lab/129",
        group="specrail-x/129",
        link="v129",
        address="198.51.100.9/28",
        gateway="198.51.100.1",
        marks={"SPECRAIL_LAB": "/lab"},
        numbers={device.path: config.number(device.path) for device in wanted.devices},
        binds=(("/run/lab/129/shared", "/var/lib/specrail-lab"),),
        common=COMMON,
    ).splitlines()


def test_a_device_is_a_mount_and_a_right_and_nothing_more() -> None:
    lines = told(PVE)
    assert "lxc.cgroup2.devices.allow = c 195:0 rw" in lines
    assert "lxc.cgroup2.devices.allow = c 195:255 rw" in lines
    entry = "lxc.mount.entry = /run/lab/129/devices/dev/nvidia0 dev/nvidia0 none bind,create=file 0 0"
    assert entry in lines
    assert not any("195:1 " in line for line in lines)


def test_an_unprivileged_container_keeps_the_devices_that_every_system_needs() -> None:
    lines = told(PVE)
    emptied = lines.index("lxc.include = /usr/share/lxc/config/userns.conf")
    assert lines.index("lxc.cgroup2.devices.deny = a") > emptied
    assert lines.index("lxc.cgroup2.devices.allow = c 1:3 rwm") > emptied
    assert "lxc.idmap = u 0 100000 65536" in lines
    assert not any(line.startswith("lxc.idmap") for line in told({**PVE, "unprivileged": 0}))


def test_a_folder_of_the_node_is_mounted_as_it_is_wanted() -> None:
    entries = [line for line in told(PVE) if "/mp" in line]
    assert entries == ["lxc.mount.entry = /run/lab/129/mp0 mnt/models none bind,create=dir,ro 0 0"]
    (writable,) = config.read({**PVE, "mp0": "/tank/models,mp=/mnt/models"}).binds
    assert not writable.read_only


def test_the_address_is_the_configs_or_the_labs() -> None:
    assert "lxc.net.0.ipv4.address = 198.51.100.3/28" in told(PVE)
    assert "lxc.net.0.hwaddr = BC:24:11:00:00:01" in told(PVE)
    dhcp = told({**PVE, "net0": "name=eth0,bridge=vmbr0,ip=dhcp"})
    assert "lxc.net.0.ipv4.address = 198.51.100.9/28" in dhcp
    assert "lxc.net.0.ipv4.gateway = 198.51.100.1" in dhcp


def test_a_disk_has_the_size_of_its_volume() -> None:
    assert config.read(PVE).disk_gib == 64
    assert config.read({**PVE, "rootfs": "local:129/vm-129-disk-0.raw,size=512M"}).disk_gib == 0.5
    assert config.read({**PVE, "rootfs": "tank:subvol-129-disk-0,size=2T"}).disk_gib == 2048


def test_every_device_has_a_number_of_its_own() -> None:
    names = [
        *("nvidia0", "nvidia1", "nvidia63", "nvidiactl", "nvidia-modeset", "nvidia-uvm", "nvidia-uvm-tools"),
        *("nvidia-caps/nvidia-cap1", "nvidia-caps/nvidia-cap2"),
    ]
    assert len({config.number(name) for name in names}) == len(names)


def test_sixteen_labs_have_networks_that_do_not_meet() -> None:
    networks = [Network(number) for number in range(16)]
    taken = [address for network in networks for address in (network.bridge, network.here, network.container(0))]
    assert len(set(taken)) == len(taken)
    assert all(len(network.link) <= 15 for network in networks)  # IFNAMSIZ


def test_only_the_distributions_own_packages_are_taken() -> None:
    ours = (
        "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: bookworm bookworm-updates\n"
        "# a comment\nComponents: main contrib\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
        "Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main\n"
    )
    theirs = "deb [signed-by=/k.gpg arch=amd64] https://packages.example.com/apt stable main\n# deb http://x y z\n"
    read = [*template.deb822(ours), *template.one_line(theirs)]
    assert list(template.of_suite(read, "bookworm")) == [
        "deb http://deb.debian.org/debian bookworm main contrib",
        "deb http://deb.debian.org/debian bookworm-updates main contrib",
    ]
