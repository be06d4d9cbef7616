#!/usr/bin/env bash
# Starts 'wallheat run' under mpirun so that the run survives the loss of
# workers, and ends with the exit status of the run.
#   wallheat launch [OPTIONS OF mpirun] -- wallheat run -d PLANS -o FILE [OPTIONS]
#   wallheat launch -n 5 -- wallheat run -d plans -o results.h5   # four workers
#
# With Open MPI 4 a worker, its node or its network connection may be lost, and
# its plans are assigned to other workers. With Open MPI 5 the run survives only
# the death of a worker process, not the loss of a node or of a connection. If
# rank 0 dies or hangs, this script ends the run. SIGTERM, SIGUSR1, SIGUSR2,
# SIGXCPU, SIGQUIT, SIGHUP and Ctrl-C stop the run gracefully; a second Ctrl-C
# terminates it at once.
#
# A wallheat that was built without MPI is started as one process on this machine,
# without mpirun and its options: wallheat launch -- wallheat run ...
#
# Exit status: the one that rank 0 recorded in FILE.status. 0: all plans are
# solved; 1: the run failed, or to resume it with the same limits would not help;
# 2: wrong usage; 3: finished, but some plans failed; 75: stopped early with plans
# left to solve, also by a signal before the first result: run it again with
# --resume. If rank 0 was killed: 75 if it had solved plans, otherwise 1.
#
# Environment variables:
#   MPIRUN              mpirun of Open MPI 4 or 5 (default: mpirun)
#   WALLHEAT_SSH        command that connects to other hosts if there is no
#                       scheduler (default: ssh)
#   WALLHEAT_HEARTBEAT_TIMEOUT_S
#                       seconds after which this script ends the run if rank 0
#                       has neither replaced FILE.status nor appended to a journal
#                       (default: 300; twice as long until it has done so once)
#
# Your own options of mpirun and OMPI_MCA_... variables take precedence over the
# settings of this script. It excludes the network interfaces docker0 and virbr0,
# which have the same address on all hosts, unless you choose interfaces yourself
# (btl_tcp_if_include, oob_tcp_if_include, ...). The folder of --out must be the
# same for this script and for rank 0.
set -uo pipefail
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=usage.sh
. "$here/usage.sh"
usage 0 "$@"
log() { echo "launch.sh: $*" >&2; }

mpirun=${MPIRUN:-mpirun} heartbeat_timeout_s=${WALLHEAT_HEARTBEAT_TIMEOUT_S:-300} mpirun_options=() program=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do mpirun_options+=("$1"); shift; done
[ $# -gt 1 ] || { log "missing command: options of mpirun come before --, the command after it"; exit 2; }
shift
[ "$1" != wallheat ] || command -v wallheat > /dev/null || set -- "$("$here/find-wallheat.sh")" "${@:2}"
# The program is everything before the 'run' that follows wallheat, because container programs have a command 'run', too,
# as in 'apptainer run IMAGE wallheat run'. If no argument begins with wallheat, it is everything before the first 'run'.
for ((i = 2; i <= $#; ++i)); do
  [ "${!i}" = run ] || continue
  [ ${#program[@]} -gt 0 ] || program=("${@:1:i-1}")
  case ${*:i-1:1} in wallheat* | */wallheat*) program=("${@:1:i-1}"); break ;; esac
done
# If sbatch was called with --export=NONE, the srun of mpirun would start Open MPI's daemons on other nodes without PATH.
[ -z "${SLURM_JOB_ID:-}" ] || export SLURM_EXPORT_ENV=ALL
result_file=$("$@" --print-out) || { [ $? != 2 ] || exit 2; log "'$1' cannot be started on this host"; exit 1; }
case $result_file in /*) ;; *) printf '%s\n' "$result_file"; exit ;; esac  # --help
launcher=()  # command that starts the ranks
prepare_mpirun() {
  version=$("$mpirun" --version 2> /dev/null)
  case $version in
    *'(Open MPI) 4'*) mpirun_options=(--enable-recovery "${mpirun_options[@]}") ;;
    *'(Open MPI) 5'*) mpirun_options=(--with-ft ulfm "${mpirun_options[@]}") ;;
    '')
      log "'$mpirun --version' failed: load your site's module of Open MPI 4 or 5, or set MPIRUN; if bash reports above that it" \
        "cannot fork, raise the limit of processes and threads, see 'ulimit -u'"
      exit 1
      ;;
    *) log "'$mpirun' is not mpirun of Open MPI 4 or 5, which survive the loss of a rank: load your site's module, or set MPIRUN"; exit 1 ;;
  esac
  # Let workers choose their cores, detect a broken connection within 6 s, and leave time to close the file after the
  # SIGTERM of a scheduler.
  for default in {OMPI_MCA_hwloc_base,PRTE_MCA_hwloc_default}_binding_policy=none OMPI_MCA_odls_base_sigkill_timeout=4 \
    OMPI_MCA_oob_tcp_keepalive_{time=2,intvl=1,probes=3} {OMPI_MCA_plm_rsh,PRTE_MCA_plm_ssh}_agent=delayed-exit-ssh.sh \
    ${SLURM_JOB_ID:+OMPI_MCA_plm_slurm_args=--no-kill}; do
    printenv "${default%%=*}" > /dev/null || export "${default?}"
  done
  # Interfaces of containers and virtual machines have the same address on all hosts. Open MPI accepts either a list of
  # interfaces to include or one to exclude, so a choice of the user or the site must not be overridden.
  choices="${mpirun_options[*]} $(env)
$({ "$(dirname -- "$(type -p -- "$mpirun")")/ompi_info" --all --parsable | sed -n '/:default$/d; s/^mca:.*param:\(.*\):source:.*/\1/p'; } 2> /dev/null)"
  [[ $choices =~ btl_tcp_if_(in|ex)clude ]] || export OMPI_MCA_btl_tcp_if_exclude=127.0.0.1/8,sppp,docker0,virbr0
  [[ $choices =~ oob_tcp_if_(in|ex)clude ]] || export OMPI_MCA_oob_tcp_if_exclude=docker0,virbr0
  launcher=("$mpirun" "${mpirun_options[@]}")
}
if [[ $("${program[@]}" version --json 2> /dev/null) != *'"mpi": "none"'* ]]; then prepare_mpirun
elif [ ${#mpirun_options[@]} -gt 0 ]; then
  log "'${program[*]}' was built without MPI, so mpirun cannot start it; omit the options before -- to run it as one process"
  exit 2
fi

pid='' stop_requested_at='' interrupts=0
stop() { stop_requested_at=$SECONDS; [ -z "$pid" ] || kill -USR1 "$pid" 2> /dev/null; }  # mpirun forwards it to all ranks
interrupt() { if [ $((++interrupts)) = 1 ]; then stop; else kill -TERM "$pid" 2> /dev/null; fi; }
trap stop TERM USR1 USR2 HUP QUIT XCPU ALRM
trap interrupt INT
trap : PIPE
# Copies the messages of mpirun from stdin to stderr. Once rank 0 has started, drops mpirun's own errors about ranks that
# end or are lost. At the end writes one line to the pipe start_error: the error with which mpirun did not start the run;
# empty if it started it.
filter_messages() {
  trap '' TERM USR1 USR2 HUP QUIT XCPU ALRM INT PIPE
  local line error='' in_error='' has_started=''
  while IFS= read -r line || [ -n "$line" ]; do
    [ "$has_started" ] || { read_status; [ "$run" = "$run_before" ] || has_started=yes; }
    [[ $has_started && $line =~ ^'['.*\ (PMIX ERROR|ORTE_ERROR_LOG):|^mpirun:\ Forwarding ]] || printf '%s\n' "$line"
    [[ $line != *'wallheat: '* ]] || has_started=yes
    [ ! "$has_started" ] || continue
    # mpirun prints its errors between lines of dashes. Its first error is the cause; its first paragraph is enough.
    case $in_error:$line in
      *:----------*) in_error=$([ "$in_error$error" ] || echo yes) ;;
      yes:) in_error='' ;;
      yes:*) error+=" ${line#"${line%%[! ]*}"}" ;;
      :ssh:* | :*'Permission denied'* | :*'Host key verification failed'*) error+=" $line" ;;
    esac
  done >&2
  [ ! "$has_started" ] || error=''
  printf '%s\n' "${error# }" >&"$start_error"
}
# Reads the status file. Sets heartbeat to its content, run to the start of its run, and run_status to the exit status that
# the run recorded at its end; empty if unknown.
read_status() {
  local last_heartbeat=${heartbeat:-}
  heartbeat=''
  { IFS= read -rd '' heartbeat < "$result_file.status"; } 2> /dev/null
  [ "$heartbeat" != "$last_heartbeat" ] || [ -z "${run+set}" ] || return 0
  run='' run_status=''
  [[ ! $heartbeat =~ '"started_utc": "'([^\"]+) ]] || run=${BASH_REMATCH[1]}
  [[ ! $heartbeat =~ '"exit_status": '([0-9]+) ]] || run_status=${BASH_REMATCH[1]}
}
# Returns true if a journal or the new result file has changed since the last call, and after the status file. Healthy runs
# may be unable to write the status file, for example with a full quota of files.
have_journals_grown() {
  local file journals='' last_journals=${journals_seen:-}
  for file in "$result_file".{wal,new}*; do [ ! "$file" -nt "$result_file.status" ] || journals=yes; done
  [ -n "$journals" ] || return
  journals_seen=$(stat -c '%n %s %y' -- "$result_file".{wal,new}* 2> /dev/null)
  [ "$journals_seen" != "$last_journals" ]
}
read_status
last_heartbeat=$heartbeat run_before=$run closed='' last_change=$SECONDS timeout_s=$((2 * heartbeat_timeout_s))
exec {clock}<> <(:) {start_error}<> <(:)
exec {messages}> >(filter_messages)
with_parent=(setpriv --pdeathsig TERM)  # mpirun receives SIGTERM if this script is killed
"${with_parent[@]}" true 2> /dev/null || with_parent=()
set -m  # starts mpirun in a separate process group: only this script receives Ctrl-C, and passes it on
PATH=$here:$PATH "${with_parent[@]}" "${launcher[@]}" "$@" < /dev/null 2>&"$messages" {messages}>&- &
pid=$!
disown "$pid"  # otherwise bash reports its death
set +m
exec {messages}>&-

is_running() { kill -0 "$pid" 2> /dev/null; }
# Sleeps for $1 s (default: 0.2) without a child process: bash loses a Ctrl-C that comes while it waits for a program.
pause() { read -rt "${1:-0.2}" -u "$clock"; }
# Waits up to $1 s; returns true if mpirun has ended.
ends_within() { for ((i = 0; i < 5 * $1; ++i)); do is_running || return 0; pause; done; ! is_running; }
# Returns true if mpirun has no child process: the ranks of this host and the connections to other hosts have ended.
has_no_child() {
  local file children=''
  for file in /proc/"$pid"/task/*/children; do read -r children < "$file"; [ -z "$children" ] || return; done
  [ -e "$file" ]
} 2> /dev/null
while is_running; do
  pause
  read_status
  if [ "$heartbeat" != "$last_heartbeat" ]; then
    # Rank 0 replaces FILE.status every 2 s, and records its exit status there when the file is closed. Then it ends mpirun,
    # if mpirun is on its host; with --notify it does so at most 30 s later.
    last_heartbeat=$heartbeat last_change=$SECONDS timeout_s=$heartbeat_timeout_s closed=''
    [ "$run" = "$run_before" ] || [ -z "$run_status" ] ||
      closed=yes timeout_s=$((heartbeat_timeout_s < 40 ? heartbeat_timeout_s : 40))
  elif [ $((SECONDS - last_change)) -ge "$timeout_s" ] ||
    { [ -n "$closed" ] && [ $((SECONDS - last_change)) -ge 2 ] && has_no_child; }; then
    if [ -z "$closed" ]; then
      if have_journals_grown; then last_change=$SECONDS; continue; fi
      log "no heartbeat from rank 0 for $timeout_s s; terminating the run"
      kill -USR1 "$pid" && ends_within 5 && break  # rank 0 may still be able to close its file
    fi
    kill -TERM "$pid"
    ends_within 20 || cat /proc/"$pid"/task/*/children 2> /dev/null | xargs kill -KILL "$pid"  # with its ranks on this host
  elif [ -n "$stop_requested_at" ] && [ $((SECONDS - stop_requested_at)) -ge 5 ]; then
    stop  # again, in case mpirun or a rank could not receive the signal yet
  fi
done
# Removes files that mpirun left if it could not clean up. In a folder where every user may write, another user may have
# created a file of any name, so this trusts and removes files of this user only, and uses a job number only if it is one.
is_own() { [ -O "$1" ] && [ ! -L "$1" ]; }
remove_own() { local file; for file; do ! is_own "$file" || rm -rf -- "$file"; done; }
folder=${TMPDIR:-/tmp}/ompi.${HOSTNAME:-host}.$EUID contact=''
if is_own "$folder" && is_own "$folder/pid.$pid"; then
  contact_file=$folder/pid.$pid/contact.txt
  ! is_own "$contact_file" || [ ! -f "$contact_file" ] || IFS=. read -r contact _ < "$contact_file"
  [[ ! $contact =~ ^[0-9]{1,10}$ ]] ||
    remove_own /dev/shm/vader_segment.*."$EUID.$(printf %x $((10#$contact >> 16)))"????.*
  remove_own "$folder/pid.$pid"
fi
remove_own "${TMPDIR:-/tmp}"/pmix-gds-shmem.*."$pid"  # PMIx 5, of Ubuntu 24.04, leaves them if a rank was killed
# Waits until all messages of mpirun are printed, but not forever: a process that outlives mpirun may keep the pipe open.
IFS= read -rt 10 -u "$start_error" error || error=''

# The status of mpirun is 0 even if all ranks have failed.
read_status
if [ -z "$run" ] || [ "$run" = "$run_before" ]; then
  if [ -n "$stop_requested_at" ]; then
    log "stopped by a signal before the run recorded an exit status in $result_file.status; if the time limit was too" \
      "short, raise it and use --resume"
  elif [ -n "$error" ]; then log "mpirun did not start the run: ${error%:}"
  else log "the run recorded no exit status in $result_file.status; see the messages above"; fi
  exit 1
fi
[ "$run_status" != 75 ] || log "stopped early with plans left to solve; resume with --resume"
[ -z "$run_status" ] || exit "$run_status"
# If another process writes the file, the status file belongs to its run, and its heartbeats continue. The state of a run
# that was killed may remain 'running' for a while, too: until the kernel has released its lock and, if rank 0 was on
# another host, until the status file is 30 s old.
last_heartbeat=$heartbeat killed_at=$SECONDS
while [ "$("${program[@]}" status --print-state "$result_file" 2> /dev/null)" = running ]; do
  if [ "$heartbeat" != "$last_heartbeat" ] || [ $((SECONDS - killed_at)) -ge 45 ]; then
    log "another run is writing $result_file"
    exit 1
  fi
  pause 1
  read_status
done
session=$("${program[@]}" status --session-exit-status "$result_file" 2> /dev/null)
status=$?
log "rank 0 was killed, or could not write $result_file.status${session:+; $session}"
exit $((status == 75 ? 75 : 1))
