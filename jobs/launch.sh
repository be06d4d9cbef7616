#!/usr/bin/env bash
# Starts `wallheat run` under mpirun so that a death does not end the run, and ends with the run's
# own exit status.
#
#   jobs/launch.sh [OPTIONS OF mpirun] -- wallheat run --data DIR --out FILE [OPTIONS]
#   jobs/launch.sh -n 5 -- wallheat run --data plans --out results.h5 --resume
#
# Against plain mpirun:
#   * A worker or a node may die: its plans go to others, and the run ends well (Open MPI 4; with
#     Open MPI 5 a worker may die, and a lost node means to start again with --resume).
#   * SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGHUP and Ctrl-C stop the run in good order, with status 75. A
#     second Ctrl-C ends it by force.
#   * A run that is stopped before it could start a plan ends with 1: a job script that starts it again
#     would do so for ever.
#   * mpirun, which after a death may not end, is ended once the result file is closed.
#   * If rank 0 dies, the run is ended: with 75 if it had been at work for a minute or more, so that
#     a job script starts it again; with 1 otherwise, as it would probably die again at once.
#
# Exit status: 0 all done; 1 the run failed, what was stored is safe; 2 wrong usage; 3 finished, but
# some plans failed; 75 stopped early with work left: run it again with --resume.
#
# Environment:
#   MPIRUN               mpirun of Open MPI 4 or 5 (default: mpirun)
#   WALLHEAT_SSH         what reaches other hosts where no scheduler does (default: ssh)
#   WALLHEAT_SILENCE_S   seconds without a sign of life from rank 0 until it is taken for dead
#                        (default: 300); twice as long until its first
# Where wallheat is not in PATH, it is the one that was built or installed with this script.
# All that is set for Open MPI is a default: your own options and OMPI_MCA_... variables win.
# The folder of --out must be the same one for this script and for rank 0, in a container, too.
set -uo pipefail

here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
silence_s=${WALLHEAT_SILENCE_S:-300}
closing_s=1             # from the closed result file to the end of mpirun; then it is ended
worth_another_start_s=60

# shellcheck source-path=SCRIPTDIR source=usage.sh
. "$here/usage.sh"
say() { echo "launch.sh: $*" >&2; }
wrong_usage() { say "$*; see 'jobs/launch.sh --help'"; exit 2; }

# --- What to start -------------------------------------------------------------------------------

usage 0 "$@"
mpirun_options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do mpirun_options+=("$1"); shift; done
[ $# -gt 1 ] || wrong_usage "nothing to start; options of mpirun come before --, the command after it"
shift
if [ "$1" = wallheat ] && ! command -v wallheat > /dev/null; then set -- "$("$here/own-wallheat.sh")" "${@:2}"; fi

# The program knows its options: it says which file it would write, or what is wrong with them.
result=$("$@" --print-out)
case $? in
  0) ;;
  2) exit 2 ;;
  *) say "'$1' cannot be started here; the message above says why"; exit 1 ;;
esac
case $result in /*) ;; *) printf '%s\n' "$result"; exit 0 ;; esac  # --help

# --- How -----------------------------------------------------------------------------------------

mpirun=${MPIRUN:-mpirun}
version=$("$mpirun" --version 2> /dev/null) || { say "'$mpirun' cannot be started; load your site's Open MPI module, or set MPIRUN"; exit 1; }
version=$(sed -n 's/.*(Open MPI) \([0-9]*\).*/\1/p' <<< "$version")

scratch=$(mktemp -d) || exit 1
agent=$here/lingering-ssh.sh
case $agent in *[[:space:]]*) ln -s "$agent" "$scratch/"; agent=$scratch/lingering-ssh.sh ;; esac  # Open MPI splits at spaces

# default NAME VALUE: a parameter of Open MPI, unless the user has set it.
default() { [ -n "${!1+set}" ] || export "$1=$2"; }
case $version in
  4)
    survive=(--enable-recovery)
    default OMPI_MCA_hwloc_base_binding_policy none    # workers choose their cores themselves
    default OMPI_MCA_odls_base_sigkill_timeout 4       # a scheduler's SIGTERM leaves time to close the file
    default OMPI_MCA_oob_tcp_keepalive_time 2          # a cut cable is noticed within 6 s
    default OMPI_MCA_oob_tcp_keepalive_intvl 1
    default OMPI_MCA_oob_tcp_keepalive_probes 3
    [ -z "${SLURM_JOB_ID:-}" ] || default OMPI_MCA_plm_slurm_args --no-kill
    default OMPI_MCA_plm_rsh_agent "$agent"
    ;;
  5)
    survive=(--with-ft ulfm)
    default PRTE_MCA_hwloc_default_binding_policy none
    default PRTE_MCA_plm_ssh_agent "$agent"
    ;;
  *) say "'$mpirun' is not that of Open MPI 4 or 5, and no other survives a death; without this script any MPI will do"; exit 2 ;;
esac

exit_status_file=$result.exit-status.${HOSTNAME:-host}.$$
# A launch.sh that was killed could not remove its own.
for left in "$result".exit-status.*; do
  if [ -n "$(find "$left" -mmin +60 2> /dev/null)" ]; then rm -f "$left"; fi
done

# From here on no signal that a scheduler or a terminal sends ends this script before mpirun: that would
# be an orphan. A broken pipe behind stderr only loses text.
pid='' asked='' interrupts=0
ask_to_stop() {
  asked=yes
  [ -z "$pid" ] || kill -USR1 "$pid" 2> /dev/null  # mpirun passes it on to all ranks
}
interrupt() {
  interrupts=$((interrupts + 1))
  if [ "$interrupts" = 1 ]; then ask_to_stop; else kill -TERM "$pid" 2> /dev/null; fi
}
leave() {
  if [ -n "$pid" ] && running; then end_mpirun 5; fi
  rm -rf "$scratch" "$exit_status_file"
}
trap leave EXIT
trap ask_to_stop TERM USR1 USR2 HUP QUIT XCPU ALRM
trap interrupt INT
trap : PIPE

# What Open MPI says of ranks that end, or are lost, as they should; before the run has begun it is a
# sign of something wrong.
without_noise() {
  local line
  trap '' TERM USR1 USR2 HUP QUIT XCPU ALRM INT PIPE  # schedulers may signal all; it ends with mpirun
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      '['*' PMIX ERROR: '* | '['*' ORTE_ERROR_LOG: '* | 'mpirun: Forwarding signal '*)
        if [ -e "$scratch/began" ]; then continue; fi ;;
    esac
    printf '%s\n' "$line"
  done >&2
}

exec {messages}> >(without_noise)
reader=$!
# Should this script be killed, mpirun is told to end.
tie=()
if setpriv --pdeathsig TERM true 2> /dev/null; then tie=(setpriv --pdeathsig TERM); fi
set -m  # mpirun in a process group of its own: a Ctrl-C reaches it through this script alone
"${tie[@]}" "$mpirun" "${survive[@]}" --report-uri "$scratch/uri" "${mpirun_options[@]}" "$@" \
  --exit-status-file "$exit_status_file" < /dev/null 2>&"$messages" {messages}>&- &
pid=$!
disown "$pid"  # or bash reports its death
set +m
exec {messages}>&-

# --- Until it ends -------------------------------------------------------------------------------

# pause SECONDS: no program that a scheduler could kill, of which bash would tell.
exec {clock}<> <(:)
pause() { read -rt "$1" -u "$clock"; }

running() { kill -0 "$pid" 2> /dev/null; }
# wait_for_end SECONDS
wait_for_end() {
  local i
  for ((i = 0; i < 5 * $1; ++i)); do
    running || return 0
    pause 0.2
  done
  ! running
}
# By force, with the ranks and the ways to other hosts that it has started here; there ranks end when
# they lose it.
kill_mpirun() {
  local file fields children=()
  for file in /proc/[0-9]*/stat; do
    read -r fields < "$file" || continue
    read -ra fields <<< "${fields##*) }"
    if [ "${fields[1]}" = "$pid" ]; then file=${file%/stat}; children+=("${file#/proc/}"); fi
  done 2> /dev/null
  kill -KILL "$pid" "${children[@]}" 2> /dev/null
  wait_for_end 5
}
# end_mpirun SECONDS: in good order, with its daemons on other hosts; Open MPI 4 takes two seconds for that.
end_mpirun() {
  kill -TERM "$pid" 2> /dev/null
  wait_for_end "$1" || kill_mpirun
}

# Rank 0 replaces FILE.status every two seconds, from before it lists the plans until the file is closed.
# Its text holds the time of writing; compared with itself only: clocks may differ. The loop below starts no
# process, as bash loses a Ctrl-C that comes while it waits for one.
look_for_life() { sign=''; IFS= read -rd '' sign < "$result.status"; } 2> /dev/null
is_starting() { [[ $sign == *'"state": "starting"'* ]]; }

look_for_life
last_sign=$sign heard=$SECONDS began='' asked_at=$SECONDS
while running; do
  pause 0.2
  if [ -s "$exit_status_file" ]; then
    wait_for_end $closing_s || end_mpirun 5
    break
  fi
  look_for_life
  if [ -n "$sign" ] && [ "$sign" != "$last_sign" ]; then
    last_sign=$sign heard=$SECONDS
    : > "$scratch/began"
    if [ -z "$began" ] && ! is_starting; then began=$SECONDS; fi
  elif [ $((SECONDS - heard)) -ge $((began ? silence_s : 2 * silence_s)) ]; then
    say "no sign of life from rank 0 for $((SECONDS - heard)) s; ending the run"
    kill -USR1 "$pid" 2> /dev/null  # it may still be able to close its file
    wait_for_end 5 || end_mpirun 20
    break
  fi
  # Once more, in case that mpirun or a rank was not ready to listen.
  if [ -n "$asked" ] && [ $((SECONDS - asked_at)) -ge 5 ]; then asked_at=$SECONDS; ask_to_stop; fi
done

# --- What it leaves ------------------------------------------------------------------------------

# All that mpirun has said comes first; not for ever, as something that it has left may hold its stderr.
for _ in {1..10}; do
  kill -0 "$reader" 2> /dev/null || break
  pause 0.1
done

# Shared memory of ranks that were killed: its name holds the job's number, which is in the URI.
uri=$(cat "$scratch/uri" 2> /dev/null)
case $version:${uri%%.*} in
  4:[0-9]*)
    printf -v family '%x' "$((${uri%%.*} >> 16))"
    rm -f /dev/shm/vader_segment.*."$EUID.${family}"[0-9a-f][0-9a-f][0-9a-f][0-9a-f].*
    ;;
esac
rm -rf "${TMPDIR:-/tmp}/ompi.${HOSTNAME:-host}.$EUID/pid.$pid"

# mpirun's own status says nothing: it is 0 even if all ranks have failed.
status=$(cat "$exit_status_file" 2> /dev/null)
again="what was stored is safe; run it again with --resume"
case $status in
  0 | [1-9] | [1-9][0-9] | [1-9][0-9][0-9])
    # An mpirun that was told to end, too, does not pass on what rank 0 says of it.
    if [ -n "$asked" ] && [ "$status" != 0 ]; then say "stopped as it was asked to, with status $status; $again"; fi
    exit "$status"
    ;;
esac
if [ -n "$asked" ] && [ -z "$began" ]; then
  say "stopped before any plan could start, and another start like it would get no further: give it more time"
  exit 1
fi
if [ -n "$asked" ]; then
  say "stopped before rank 0 could close the result file; $again"
  exit 75
fi
if [ -z "$began" ]; then
  say "the run ended before it began; the messages above say why"
  exit 1
fi
say "rank 0 has not closed the result file; $again"
[ -n "$began" ] && [ $((heard - began)) -ge $worth_another_start_s ] && exit 75
exit 1
