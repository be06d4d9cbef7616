#!/usr/bin/env bash
# A private Slurm on the hosts of hosts.sh: the controller on n0, nodes n1, n2, ... Writes only
# to DIR, and does not affect services of the machine. Needs root, and Debian's munge, slurmctld, slurmd
# and slurm-client; with accounting also slurmdbd and mariadb-server.
#
#   slurm.sh DIR start N [accounting]   N nodes with 4 fake cores and 2 fake GPUs each; sacct works
#   slurm.sh DIR stop
#   slurm.sh DIR on sbatch ...          runs a Slurm command on the controller's host
set -euo pipefail

here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 2 ] || { sed -n '2,/^set -/{/^set -/!s/^# \{0,1\}//p}' "$0"; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
verb=$2
shift 2
export SLURM_CONF=$dir/slurm.conf
PATH=$PATH:/usr/sbin:/sbin
on() { "$here/hosts.sh" "$dir/hosts.d" on "$@"; }

write_configuration() {
  local nodes=$1 storage=${2:-none} i
  cat > "$dir/slurm.conf" <<END
ClusterName=private
SlurmctldHost=n0
AuthType=auth/munge
# The lifetime of a credential is also the delay of a requeued job.
AuthInfo=socket=$dir/munge/socket,cred_expire=5
SlurmUser=root
SlurmdUser=root
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/%n.pid
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/%n
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout=10
KillWait=10
JobRequeue=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
AccountingStorageType=accounting_storage/$storage
$([ "$storage" = none ] || printf '%s\n' AccountingStorageHost=n0 "AccountingStoragePass=$dir/munge/socket")
JobAcctGatherType=jobacct_gather/none
GresTypes=gpu
NodeName=n[1-$nodes] CPUs=4 RealMemory=1000 Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
  # A fake GPU must be a character device: /dev/null under another name.
  for i in 0 1; do mknod "$dir/gpu$i" c 1 3; done
  echo "NodeName=n[1-$nodes] Name=gpu File=$dir/gpu[0-1]" > "$dir/gres.conf"
  echo "CgroupPlugin=cgroup/v1" > "$dir/cgroup.conf"
}

# Starts a private database, accessible through a socket only, and slurmdbd on n0.
start_accounting() {
  local i
  mkdir -p "$dir/db"
  mariadb-install-db --no-defaults --user=root --datadir="$dir/db/data" --auth-root-authentication-method=socket \
    --skip-test-db > "$dir/log/mariadb" 2>&1
  setsid mariadbd --no-defaults --user=root --datadir="$dir/db/data" --socket="$dir/db/socket" --skip-networking \
    --pid-file="$dir/mariadbd.pid" --innodb-buffer-pool-size=32M --innodb-log-file-size=16M \
    --innodb-flush-log-at-trx-commit=0 --innodb-lock-wait-timeout=900 >> "$dir/log/mariadb" 2>&1 < /dev/null &
  for ((i = 0; i < 300; ++i)); do
    mariadb --no-defaults -S "$dir/db/socket" -e 'select 1' > /dev/null 2>&1 && break
    sleep 0.1
  done
  mariadb --no-defaults -S "$dir/db/socket" -e "create database slurm_acct_db; grant all on slurm_acct_db.* to 'slurm'@'localhost' identified by 'private';"
  (umask 077 && cat > "$dir/slurmdbd.conf" <<END
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
DbdHost=n0
SlurmUser=root
LogFile=$dir/log/slurmdbd
PidFile=$dir/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=private
StorageLoc=slurm_acct_db
END
  )
  MYSQL_UNIX_PORT=$dir/db/socket on n0 slurmdbd
  for ((i = 0; i < 300; ++i)); do
    on n0 timeout 3 sacctmgr -n show cluster > /dev/null 2>&1 && break
    sleep 0.1
  done
  on n0 sacctmgr -i add cluster private > /dev/null
}

start() {
  local nodes=$1 accounting=${2:-} i
  mkdir -p "$dir"/{munge,log,state}
  chmod 755 "$dir" "$dir/munge"
  (umask 077 && head -c 128 /dev/urandom > "$dir/munge/key")
  munged --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/log/munged" --seed-file="$dir/munge/seed"
  write_configuration "$nodes" ${accounting:+slurmdbd}
  "$here/hosts.sh" "$dir/hosts.d" up "$nodes"
  [ -z "$accounting" ] || start_accounting
  on n0 slurmctld -c
  for ((i = 1; i <= nodes; ++i)); do on "n$i" slurmd -N "n$i"; done
  for ((i = 0; i < 300; ++i)); do
    [ "$(on n0 sinfo -h -N -o %t 2> /dev/null | grep -c '^idle')" != "$nodes" ] || return 0
    sleep 0.1
  done
  echo "slurm.sh: not all nodes are up after 30 s" >&2
  tail -n 5 "$dir"/log/* >&2
  return 1
}

stop() {
  [ ! -e "$dir/hosts.d/hosts" ] || "$here/hosts.sh" "$dir/hosts.d" down  # also stops the daemons
  if [ -e "$dir/mariadbd.pid" ]; then
    mariadb-admin --no-defaults -S "$dir/db/socket" shutdown > /dev/null 2>&1 || true
  fi
  if [ -e "$dir/munged.pid" ]; then
    munged --stop --socket="$dir/munge/socket" > /dev/null 2>&1 || true
  fi
  rm -rf "$dir"/{db,slurmdbd.conf,munge,state,slurm.conf,gres.conf,cgroup.conf,gpu0,gpu1,spool.*,*.pid,hosts.d}
}

case $verb in
  start) stop; start "$@" ;;
  stop) stop ;;
  on) on n0 "$@" ;;
  *) echo "slurm.sh: unknown command '$verb'" >&2; exit 2 ;;
esac
