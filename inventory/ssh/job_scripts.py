"""What runs on the host for a long job: POSIX sh with coreutils and util-linux (flock, setsid).

Files in the job's folder, all 0600: NAME.sh the script; NAME.log what it printed; NAME.rc its exit status, once it has
ended; NAME.seen when somebody has been told; NAME.job one line, "hash id pid boot-id"; NAME.lock, held by all of the
job's processes as long as they live, which no crash and no reboot can leave behind.
"""

START = r"""
set -eu
folder=$1 name=$2 hash=$3 id=$4 size=$5
for tool in flock setsid; do
  command -v "$tool" > /dev/null || { echo "missing $tool"; exit 0; }
done
mkdir -p "$folder"
cd "$folder"
before=$(umask)
umask 077
new=$(mktemp ".$name.XXXXXXXXXX")
trap 'rm -f "$new"' EXIT
trap 'exit 1' HUP INT PIPE TERM
cat > "$new"
[ "$(wc -c < "$new")" -eq "$size" ] || { echo 'the script did not come whole' >&2; exit 1; }
exec 8>> "$name.starting"
flock -w 20 8 || { echo 'somebody else is starting this job' >&2; exit 1; }
old_hash='' old_id='' old_pid='' old_boot=''
[ ! -e "$name.job" ] || read -r old_hash old_id old_pid old_boot < "$name.job"
exec 9>> "$name.lock"
patience=0.5  # a look at the lock, by somebody who follows it, holds it for a moment
[ ! -e "$name.rc" ] || patience=0
free=yes
flock -w "$patience" 9 || free=no
if [ -e "$name.rc" ]; then  # asked only now: it may have ended while we waited
  if [ "$old_hash" = "$hash" ] && [ ! -e "$name.seen" ] && [ -n "$(find "$name.rc" -mmin -60)" ]; then
    echo "ended $old_hash $old_id $old_pid"
    exit 0
  fi
  if [ "$free" = no ]; then  # something that the ended job has left behind holds it
    rm -f "$name.lock"
    exec 9>> "$name.lock"
    flock -n 9
  fi
elif [ "$free" = no ]; then
  echo "running $old_hash $old_id $old_pid"
  exit 0
fi
rm -f "$name.rc" "$name.seen" "$name.job" "$name.log"
mv -f "$new" "$name.sh"
: > "$name.log"
setsid /bin/sh -c '
  trap : HUP INT TERM  # to live long enough to say how the script ended
  umask "$2"
  /bin/sh "./$1.sh"
  status=$?
  umask 077
  echo "$status" > ".$1.rc.new"
  mv -f ".$1.rc.new" "$1.rc"
' job "$name" "$before" < /dev/null > "$name.log" 2>&1 8>&- &
echo "$hash $id $! $(cat /proc/sys/kernel/random/boot_id)" > ".$name.job.new"
mv -f ".$name.job.new" "$name.job"
echo "started $hash $id $!"
"""
"""Arguments: folder, name, hash, id, size of the script, which comes on stdin.

Prints "started|running|ended hash id pid" or "missing TOOL". "ended": the same script, within the last hour, and nobody
has been told how it went.
"""

POLL = r"""
set -eu
umask 077
folder=$1 name=$2 id=$3 offset=$4 most=$5 rounds=$6
cd "$folder"
while :; do
  now=''
  [ ! -e "$name.job" ] || read -r _ now _ < "$name.job"
  [ "$now" = "$id" ] || { echo 'replaced - 0 0'; exit 0; }
  state=running status=-
  if [ -e "$name.rc" ]; then
    state=ended
  elif flock -sn "$name.lock" true; then
    state=died
    [ ! -e "$name.rc" ] || state=ended  # just now
  fi
  [ "$state" != ended ] || status=$(cat "$name.rc")
  size=$(wc -c < "$name.log")
  n=$((size - offset))
  [ "$n" -le "$most" ] || n=$most
  if [ "$n" -gt 0 ] && { [ "$state" = running ] || [ "$n" -eq "$most" ]; }; then
    ends=$(tail -c "+$((offset + n))" "$name.log" | head -c 1 | wc -l)
    if [ "$ends" -eq 0 ]; then  # not in the middle of a line, unless it is longer than all that may be sent
      part=$(tail -c "+$((offset + 1))" "$name.log" | head -c "$n" | tail -n 1 | wc -c)
      { [ "$part" -eq "$n" ] && [ "$n" -eq "$most" ]; } || n=$((n - part))
    fi
  fi
  if [ "$n" -gt 0 ] || [ "$state" != running ] || [ "$rounds" -le 0 ]; then break; fi
  rounds=$((rounds - 1))
  sleep 0.2
done
echo "$state $status $((offset + n)) $size"
[ "$n" -eq 0 ] || tail -c "+$((offset + 1))" "$name.log" | head -c "$n"
"""
"""Arguments: folder, name, id, offset in the log, bytes to send at most, rounds of 0.2 s to wait for something new.

Prints "running|ended|died|replaced STATUS OFFSET SIZE" and then the log from `offset` to OFFSET, in whole lines.
"""

KILL = r"""
set -eu
umask 077
folder=$1 name=$2 id=$3
cd "$folder"
now='' pid=''
[ ! -e "$name.job" ] || read -r _ now pid _ < "$name.job"
[ "$now" = "$id" ] || exit 0
if [ -e "$name.rc" ] || flock -sn "$name.lock" true; then exit 0; fi
kill -TERM "-$pid" 2> /dev/null || exit 0
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
  kill -0 "-$pid" 2> /dev/null || exit 0
  sleep 0.2
done
kill -KILL "-$pid" 2> /dev/null || :
"""
"""Arguments: folder, name, id. Ends all of the job's processes: asks them, and after 5 s does not ask."""

SEEN = r"""
set -eu
umask 077
folder=$1 name=$2 id=$3
cd "$folder"
read -r _ now _ < "$name.job"
[ "$now" != "$id" ] || : > "$name.seen"
"""
"""Arguments: folder, name, id. Somebody knows how the job ended: the next start runs it anew."""
