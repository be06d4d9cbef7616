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
#   * SIGTERM, SIGUSR1 and Ctrl-C stop the run in good order, with status 75. A second Ctrl-C
#     ends it by force.
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
# All that is set for Open MPI is a default: your own options and OMPI_MCA_... variables win.
# The folder of --out must be the same one for this script and for rank 0, in a container, too.
set -uo pipefail

here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
silence_s=${WALLHEAT_SILENCE_S:-300}
closing_s=10            # from the closed result file to the end of mpirun; then it is ended
worth_another_start_s=60

say() { echo "launch.sh: $*" >&2; }
wrong_usage() { say "$*; see 'jobs/launch.sh --help'"; exit 2; }

# --- What to start -------------------------------------------------------------------------------

case ${1:-} in -h | --help) sed -n '2,/^set -/{/^set -/!s/^# \{0,1\}//p}' "$0"; exit 0 ;; esac
mpirun_options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do mpirun_options+=("$1"); shift; done
[ $# -gt 1 ] || wrong_usage "nothing to start; options of mpirun come before --, the command after it"
shift

# option LONG SHORT WORDS...: the value of an option among the words, or of a --config file named there.
option() {
  local long=$1 short=$2 config='' value=''
  shift 2
  while [ $# -gt 0 ]; do
    case $1 in
      "--$long" | "$short") value=${2:-} ;;
      "--$long="*) value=${1#*=} ;;
      --config) config=${2:-} ;;
      --config=*) config=${1#*=} ;;
    esac
    shift
  done
  if [ -z "$value" ] && [ -r "$config" ]; then
    value=$(sed -n "s/^[[:space:]]*${long}[[:space:]]*=[[:space:]]*\([^#]*[^#[:space:]]\).*/\1/p" "$config" | tail -n 1)
  fi
  echo "$value"
}

# The result file: in an array it is that of the part, named as `wallheat run` names it.
result=$(option out -o "$@")
[ -n "$result" ] || wrong_usage "--out is missing in the options of wallheat run"
shard=$(option shard --shard "$@")
if [ "${shard:-auto}" = auto ]; then
  if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
    shard=$(((SLURM_ARRAY_TASK_ID - ${SLURM_ARRAY_TASK_MIN:-1}) / ${SLURM_ARRAY_TASK_STEP:-1} + 1))/${SLURM_ARRAY_TASK_COUNT:-1}
  elif [ "${LSB_JOBINDEX:-0}" != 0 ]; then
    shard=$LSB_JOBINDEX/$LSB_JOBINDEX_END
  fi
fi
case $shard in
  */1) ;;
  */*)
    name=${result##*/} k=${shard%/*} n=${shard#*/}
    printf -v part '%s.part-%0*d-of-%d' "${name%.*}" ${#n} "$((10#$k))" "$((10#$n))"
    case $name in *.*) part=$part.${name##*.} ;; esac
    result=${result%"$name"}$part
    ;;
esac

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
    default OMPI_MCA_oob_tcp_keepalive_time 2          # a cut cable is noticed within 6 s
    default OMPI_MCA_oob_tcp_keepalive_intvl 1
    default OMPI_MCA_oob_tcp_keepalive_probes 3
    default OMPI_MCA_odls_base_sigkill_timeout 10      # from mpirun's SIGTERM to its SIGKILL, in s
    [ -z "${SLURM_JOB_ID:-}" ] || default OMPI_MCA_plm_slurm_args --no-kill
    default OMPI_MCA_plm_rsh_agent "$agent"
    ;;
  5)
    survive=(--with-ft ulfm)
    default PRTE_MCA_hwloc_default_binding_policy none
    default PRTE_MCA_odls_base_sigkill_timeout 10
    default PRTE_MCA_plm_ssh_agent "$agent"
    ;;
  *) say "'$mpirun' is not that of Open MPI 4 or 5, and no other survives a death; without this script any MPI will do"; exit 2 ;;
esac

exit_status_file=$result.exit-status.${HOSTNAME:-host}.$$
trap 'rm -rf "$scratch" "$exit_status_file"' EXIT
rm -f "$exit_status_file"

set -m  # mpirun in a process group of its own: a Ctrl-C reaches it through this script alone
"$mpirun" "${survive[@]}" --report-uri "$scratch/uri" "${mpirun_options[@]}" "$@" \
  --exit-status-file "$exit_status_file" < /dev/null &
pid=$!
set +m

# --- Until it ends -------------------------------------------------------------------------------

asked='' interrupts=0
ask_to_stop() { asked=yes; kill -USR1 "$pid" 2> /dev/null; }  # mpirun passes it on to all ranks
interrupt() {
  interrupts=$((interrupts + 1))
  if [ "$interrupts" = 1 ]; then ask_to_stop; else kill -TERM "$pid" 2> /dev/null; fi
}
trap ask_to_stop TERM USR1
trap interrupt INT

running() { kill -0 "$pid" 2> /dev/null; }
# wait_for_end SECONDS
wait_for_end() {
  local end=$((SECONDS + $1))
  while running && [ $SECONDS -lt $end ]; do sleep 0.2; done
  ! running
}
end_mpirun() {
  kill -TERM "$pid" 2> /dev/null
  wait_for_end 20 || kill -KILL -- -"$pid"
  wait_for_end 5
}

# Rank 0 replaces FILE.status every two seconds. Compared with itself only: clocks may differ.
sign_of_life() { stat -c '%i %y' "$result.status" 2> /dev/null; }

last_sign=$(sign_of_life) heard=$SECONDS began='' asked_at=$SECONDS
while running; do
  sleep 0.5
  if [ -s "$exit_status_file" ]; then
    wait_for_end $closing_s || end_mpirun
    break
  fi
  sign=$(sign_of_life)
  if [ -n "$sign" ] && [ "$sign" != "$last_sign" ]; then
    last_sign=$sign heard=$SECONDS began=${began:-$SECONDS}
  elif [ $((SECONDS - heard)) -ge $((began ? silence_s : 2 * silence_s)) ]; then
    say "no sign of life from rank 0 for $((SECONDS - heard)) s; ending the run"
    end_mpirun
    break
  fi
  # Once more, in case that mpirun or a rank was not ready to listen.
  if [ -n "$asked" ] && [ $((SECONDS - asked_at)) -ge 5 ]; then asked_at=$SECONDS; ask_to_stop; fi
done
wait "$pid" 2> /dev/null  # its own status says nothing: it is 0 even if all ranks have failed

# --- What it leaves ------------------------------------------------------------------------------

# Shared memory of ranks that were killed: its name holds the job's number, which is in the URI.
uri=$(cat "$scratch/uri" 2> /dev/null)
case $version:${uri%%.*} in
  4:[0-9]*)
    printf -v family '%x' "$((${uri%%.*} >> 16))"
    rm -f /dev/shm/vader_segment.*."$EUID.${family}"[0-9a-f][0-9a-f][0-9a-f][0-9a-f].*
    ;;
esac
rm -rf "${TMPDIR:-/tmp}/ompi.${HOSTNAME:-host}.$EUID/pid.$pid"

status=$(cat "$exit_status_file" 2> /dev/null)
case $status in [0-9] | [0-9][0-9] | [0-9][0-9][0-9]) exit "$status" ;; esac
again="what was stored is safe; run it again with --resume"
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
