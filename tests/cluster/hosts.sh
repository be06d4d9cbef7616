#!/usr/bin/env bash
# Several hosts on one machine: a head n0 and hosts n1, n2, ..., each a network namespace with its own
# address, name and /dev/shm. Files and process numbers are common to all. Needs root and iproute2.
#
#   hosts.sh DIR up N             creates n0 to nN; DIR contains their files
#   hosts.sh DIR down             kills all their processes and removes them
#   hosts.sh DIR on HOST COMMAND  runs a command on a host
#   hosts.sh DIR pids HOST        prints the process IDs of a host
#   hosts.sh DIR kill HOST        power failure: all processes of a host die at once
#   hosts.sh DIR cut HOST         cuts the network of a host without notice
set -euo pipefail

here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 2 ] || { sed -n '2,/^set -/{/^set -/!s/^# \{0,1\}//p}' "$0"; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
verb=$2
shift 2
prefix=wh$(cksum <<< "$dir" | cut -d ' ' -f 1)-   # so that several sets of hosts can coexist

all_hosts() { ip netns list | sed -n "s/^$prefix\(n[0-9]*\).*/\1/p"; }

up() {
  local count=$1 host i
  for ((i = 0; i <= count; ++i)); do
    host=n$i
    ip netns add "$prefix$host"
    mkdir -p "$dir/shm/$host"
    ip -n "$prefix$host" link set lo up
    echo "10.88.0.$((i == 0 ? 250 : i)) $host"
  done > "$dir/hosts"
  echo "127.0.0.1 localhost" >> "$dir/hosts"
  # The switch belongs to the head's namespace, so the network of the machine does not change.
  ip -n "${prefix}n0" link add switch type bridge
  ip -n "${prefix}n0" addr add 10.88.0.250/24 dev switch
  ip -n "${prefix}n0" link set switch up
  for ((i = 1; i <= count; ++i)); do
    ip -n "${prefix}n0" link add "port$i" type veth peer name eth0 netns "${prefix}n$i"
    ip -n "${prefix}n0" link set "port$i" master switch up
    ip -n "${prefix}n$i" addr add "10.88.0.$i/24" dev eth0
    ip -n "${prefix}n$i" link set eth0 up
  done
}

kill_host() {
  local pids
  pids=$(ip netns pids "$prefix$1")
  # shellcheck disable=SC2086  # several numbers
  [ -z "$pids" ] || kill -KILL $pids 2> /dev/null || true
}

down() {
  local host
  for host in $(all_hosts); do kill_host "$host"; done
  for host in $(all_hosts); do ip netns del "$prefix$host"; done
  rm -rf "$dir/shm" "$dir/hosts" "$dir/ssh"
}

case $verb in
  up)
    down
    up "$1"
    # Replaces ssh for launch.sh: [options] HOST COMMAND...
    cat > "$dir/ssh" <<END
#!/usr/bin/env bash
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1; shift
exec "$here/hosts.sh" "$dir" on "\$host" env -i HOME="\$HOME" PATH="\$PATH" sh -c "\$*"
END
    chmod +x "$dir/ssh"
    ;;
  down) down ;;
  on)
    host=$1
    shift
    # shellcheck disable=SC2016  # the inner shell's own arguments
    exec ip netns exec "$prefix$host" unshare --uts bash -c '
      hostname "$1" && export HOSTNAME="$1" && mount --bind "$2/hosts" /etc/hosts &&
        mount --bind "$2/shm/$1" /dev/shm && exec "${@:3}"' on "$host" "$dir" "$@"
    ;;
  pids) ip netns pids "$prefix$1" ;;
  kill) kill_host "$1" ;;
  cut) ip -n "${prefix}n0" link set "port${1#n}" down ;;
  *) echo "hosts.sh: unknown command '$verb'" >&2; exit 2 ;;
esac
