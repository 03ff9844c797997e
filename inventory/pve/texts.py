"""The texts with which Proxmox VE says that something cannot be done now, or not like this.

Sources: pve-container, pve-guest-common, pve-storage, pve-cluster and pve-http-server of PVE 8 and 9.
"""

from inventory.errors import (
    AlreadyExists,
    BadParameter,
    ConfigChanged,
    GuestLocked,
    NoQuorum,
    NotFound,
    ProxmoxError,
)
from inventory.pve.rule import rule

_BUSY = (
    rule(
        GuestLocked,
        r"can't lock file '(?P<file>[^']+)' - got timeout",
        (
            "Another task holds the container's config: usually a backup or a second tool, and it ends by itself.",
            "If it does not, a process of the container hangs in state D (storage, NFS, GPU driver) and holds it;",
            "then pct unlock cannot help, the stuck I/O must end or the node be rebooted. Never delete the lock file.",
        ),
        "ps -eo pid,stat,wchan:24,args | grep -E '^ *[0-9]+ D'  # as root on {node}: what hangs",
        "pvesh get /nodes/{node}/tasks --source active",
    ),
    rule(
        GuestLocked,
        r"(?:CT|VM|guest) is locked \((?P<lock>[a-z-]+)\)",
        "A {lock} task works on the container, or one died and left its lock.",
        "pvesh get /nodes/{node}/tasks --source active --vmid {ctid}",
        "pct unlock {ctid}  # as root on {node}, once you know that no task is running",
    ),
    rule(
        ConfigChanged,
        r"detected modified configuration|checksum mismatch \(file change",
        "Somebody changed the container's config after it was read; nothing was written.",
        "invoke plan --host HOST  # look at what is different now, then deploy again",
    ),
    rule(
        NoQuorum,
        r"no quorum|unable to open file '/etc/pve/[^']*' - Permission denied",
        "Too few nodes of the cluster see each other, so /etc/pve is read-only: guests run on, nothing can be changed.",
        "pvecm status  # as root on {node}",
    ),
    rule(
        ProxmoxError,
        r"protection mode enabled",
        "Somebody has protected the container against removal of it and of its disks.",
        "pct set {ctid} --protection 0  # as root on {node}, if it may really go",
    ),
)

_EXISTS = (
    rule(
        AlreadyExists,
        r"(?P<kind>CT|VM) (?P<taken>\d+) already exists(?: on node '(?P<where>[^']+)')?",
        "The id belongs to another guest of the cluster ({kind} {taken}).",
        "pvesh get /cluster/nextid  # the next free id, for container.ctid",
        "pvesh get /cluster/resources --type vm",
    ),
    rule(
        AlreadyExists,
        r"snapshot name '(?P<name>[^']+)' already used|storage ID '(?P<storage>[^']+)' already defined",
        "The name is taken.",
        "pct listsnapshot {ctid}  # as root on {node}",
    ),
)

_MISSING = (
    rule(
        NotFound,
        r"[Cc]onfiguration file 'nodes/(?P<there>[^/']+)/(?:lxc|qemu-server)/(?P<ctid>\d+)\.conf' does not exist",
        "There is no container {ctid} on {there} (it may live on another node of the cluster).",
        "pvesh get /cluster/resources --type vm",
    ),
    rule(
        NotFound,
        r"volume '(?P<volume>(?P<storage>[^:']+):(?:vztmpl/)?(?P<file>[^']+))' does not exist",
        "The storage has no such volume; a container's template must be downloaded once.",
        "pveam update && pveam download {storage} {file}  # as root on {node}",
        "pvesm list {storage} --content vztmpl  # the names that are there",
    ),
    rule(
        NotFound,
        r"storage '(?P<storage>[^']+)' (?:does not exist|is not available on node '[^']+'|is disabled|is not online)",
        "The storage {storage} is not to be had on {node}.",
        "pvesm status  # as root on {node}: names, and which are active",
    ),
    rule(
        NotFound,
        r"bridge '(?P<bridge>[^']+)' does not exist",
        "container.net.bridge names a bridge that {node} does not have.",
        "ip -br link show type bridge  # as root on {node}",
    ),
    rule(
        NotFound,
        r"hostname lookup '(?P<name>[^']+)' failed|no such cluster node '(?P<other>[^']+)'",
        "The cluster has no node of that name; node.name must be the node's own name, not an address or alias.",
        "pvesh get /nodes  # the names",
    ),
    rule(
        NotFound,
        r"Device (?P<device>/dev/\S+) does not exist",
        (
            "The node has no {device}: its driver is not loaded, or it has not made its device nodes yet.",
            "A container with a device that is missing does not start at all.",
        ),
        "nvidia-modprobe -c0 -u -m && nvidia-smi -L  # as root on {node}; also at boot, before the guests",
    ),
    rule(
        BadParameter,
        r"(?P<device>/dev/\S+) is not a device",
        "{device} is a folder or a file; tools that ran without the driver leave files behind that are named like it.",
        "ls -ld {device}  # as root on {node}",
    ),
    rule(
        BadParameter,
        r"command 'mount (?P<device>/dev/\S+) \S+' failed|mount point type device",
        "A device node ({device}) was given as a mount point. It is not a volume: PVE formats and mounts those.",
        "pct set {ctid} --delete mp0 && pct set {ctid} --dev0 {device}  # as root on {node}; PVE 8.1 and newer",
    ),
    rule(
        NotFound,
        r"snapshot '(?P<name>[^']+)' does not exist",
        "The container has no such snapshot.",
        "pct listsnapshot {ctid}  # as root on {node}",
    ),
)

_PARAMETERS = (
    rule(
        BadParameter,
        r"lxc\.[a-z0-9_.-]+: property is not defined in schema",
        "Raw lxc.* keys are not in the API: root edits /etc/pve/lxc/{ctid}.conf, above its first [section].",
        "editor /etc/pve/lxc/{ctid}.conf  # as root on {node}",
    ),
    rule(
        BadParameter,
        r"property is not defined in schema",
        "This PVE does not know the parameter: it is misspelt, or the node is older than the parameter.",
        "pveversion  # as root on {node}; specrail needs PVE 8.1 or newer",
    ),
    rule(
        BadParameter,
        r"does not support container directories|does not allow content type 'rootdir'",
        "The storage is not made for containers' disks (content type rootdir).",
        "pvesm status --content rootdir  # as root on {node}: the storages that are",
        "container.storage: local-lvm",
    ),
    rule(
        BadParameter,
        r"content type needs to be '(?P<content>[^']+)'",
        "The volume is not of the kind that is needed here ({content}).",
        "pvesm list STORAGE --content {content}  # as root on {node}",
    ),
    rule(
        BadParameter,
        r"unable to shrink disk size|disk is already at specified size",
        "A container's disk grows only; to make it smaller, destroy the container and create it again.",
        "pct config {ctid}  # as root on {node}: rootfs says size=...",
    ),
    rule(
        BadParameter,
        r"MTU size '?(?P<mtu>\d+)'? is bigger than bridge MTU '?(?P<bridge>\d+)'?",
        "container.net.mtu may be {bridge} at most on this bridge.",
        "container.net.mtu: {bridge}",
    ),
    rule(
        BadParameter,
        r"\.?mode: value does not match the regex pattern",
        "The mode of a device node is four octal digits with a leading 0.",
        'container.gpus.mode: "0666"',
    ),
    rule(
        BadParameter,
        r"unable to (?:modify|delete) read-only option: '(?P<option>[^']+)'",
        "{option} is decided when a container is created.",
        "invoke destroy --host HOST && invoke deploy --host HOST  # loses what is in the container",
    ),
    rule(
        BadParameter,
        r"no options specified|Parameter verification failed|invalid format|invalid size",
        "The node checks every parameter against its schema and does not like this one.",
        "pvesh usage /nodes/{node}/lxc --command create --verbose  # as root on {node}: what it takes",
    ),
    rule(
        BadParameter,
        r"",
        "The node checks every parameter against its schema and does not like one of these.",
        "pvesh usage /nodes/{node}/lxc --command create --verbose  # as root on {node}: what it takes",
        status=400,
    ),
)

_TASKS = (
    rule(
        ProxmoxError,
        r"No space left on device|out of space|insufficient free space",
        "A storage of the node is full.",
        "pvesm status && df -h  # as root on {node}",
    ),
    rule(
        ProxmoxError,
        r"command socket|did not stop",
        "The container does not react; a process in it may hang in state D (storage, NFS, GPU driver).",
        "pct stop {ctid}  # as root on {node}",
    ),
    rule(
        ProxmoxError,
        r"^unexpected status$",
        "The task's process was killed or its log was cut off: whether it did its work is not known.",
        "journalctl -u pvedaemon --since -1h  # as root on {node}: out of memory, restart, reboot",
    ),
    rule(
        ProxmoxError,
        r"^received interrupt$",
        "Somebody or something stopped the task while it was running.",
        "pvesh get /nodes/{node}/tasks --vmid {ctid}  # who did what",
    ),
    rule(
        ProxmoxError,
        r"(?:CT|VM) \d+ (?P<state>already|not) running",
        "The container's state changed meanwhile.",
        "pct status {ctid}  # as root on {node}",
    ),
    rule(
        ProxmoxError,
        r"Method '[^']+' not implemented|^Not Found$",
        "There is no such call here: node.api names another service, or the PVE is too old.",
        "pveversion  # as root on {node}; specrail needs PVE 8.1 or newer",
    ),
    rule(
        ProxmoxError,
        r"got timeout|Connection timed out",
        "The node was too slow: a storage that hangs, or too much load.",
        "pvesm status  # as root on {node}: one that hangs shows here",
    ),
    rule(
        ProxmoxError,
        r"",
        "This text of PVE's is not one that specrail knows; the node's own log says more.",
        "journalctl -u pvedaemon -u pveproxy --since -10min  # as root on {node}",
    ),
)

RULES = (*_BUSY, *_EXISTS, *_MISSING, *_PARAMETERS, *_TASKS)
