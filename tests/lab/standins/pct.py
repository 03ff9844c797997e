"""pct on the lab's node: asks the daemon, then prints its answer or becomes the command inside the container."""

import json
import os
import socket
import sys


def main(control: str, argv: list[str]) -> int:
    """The exit status, unless the process becomes another."""
    with socket.socket(socket.AF_UNIX) as line:
        folder, _, name = control.rpartition("/")
        opened = os.open(folder, os.O_RDONLY)
        line.connect(f"/proc/self/fd/{opened}/{name}")  # the real path may be too long for a socket's address
        os.close(opened)
        line.sendall(json.dumps({"do": "pct", "argv": argv}).encode() + b"\n")
        answer = json.loads(line.makefile("rb").readline())
    if "become" in answer:
        become = answer["become"]
        os.chdir(become["cwd"])
        try:
            os.execvpe(become["argv"][0], become["argv"], become["environment"])  # noqa: S606 - as lxc-attach does
        except OSError as error:
            sys.stderr.write(f'lxc-attach: Failed to exec "{become["argv"][0]}": {error.strerror}\n')
            return 127
    sys.stdout.write(answer["stdout"])
    sys.stderr.write(answer["stderr"])
    return int(answer["status"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
