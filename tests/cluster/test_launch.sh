#!/usr/bin/env bash
# jobs/launch.sh on this host, under the real mpirun; mostly with a stand-in for wallheat.
#   test_launch.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
mpirun --version 2> /dev/null | grep -q 'Open MPI' || skip "needs mpirun of Open MPI"
launch=$root/jobs/launch.sh
export STAND_IN=$scratch/stand-in

# start [NAME=VALUE...]: a run of three ranks in the background; sets `launched`.
start() {
  rm -rf "$STAND_IN"
  mkdir -p "$STAND_IN"
  env "$@" "$launch" -n 3 --oversubscribe -- "$here/stand_in.sh" run --out "$scratch/results.h5" > "$scratch/log" 2>&1 &
  launched=$!
}
ready() { [ -s "$STAND_IN/pid.0" ] && [ -s "$STAND_IN/pid.1" ] && [ -s "$STAND_IN/pid.2" ] && [ -e "$scratch/results.h5.status" ]; }
started() { start "$@"; wait_until 300 "the ranks are at work" ready; }
ends_with() { wait "$launched"; same "$1" $?; }
rank_pid() { cat "$STAND_IN/pid.$1"; }
tidy() {
  wait_until 300 "no process is left" nothing_left
  check "no exit status file is left" same '' "$(find "$scratch" -name '*.exit-status.*')"
}

for status in 0 3 75 1; do
  started
  echo "$status" > "$STAND_IN/end"
  check "a run that ends with $status makes launch.sh end with $status" ends_with "$status"
done
tidy

for signal in TERM USR1 USR2 XCPU QUIT INT HUP; do
  set -m  # or the background job would be deaf to SIGINT
  start
  set +m
  wait_until 300 "the ranks are at work" ready
  kill -$signal "$launched"
  check "SIG$signal to launch.sh stops the run in good order, with 75" ends_with 75
done
tidy

started
kill -KILL "$launched"
check "a launch.sh that is killed" ends_with 137
if setpriv --pdeathsig TERM true 2> /dev/null; then wait_until 300 "takes its mpirun along" nothing_left
else echo "skipped: that mpirun goes with it: no setpriv here (util-linux)"; kill "$(pgrep -f -- "$scratch/")"; fi
rm -f "$scratch"/*.exit-status.*

mkfifo "$scratch/left"
# shellcheck disable=SC2094  # a pipe that nobody reads
exec {held}<> "$scratch/left" {left}> "$scratch/left" {held}>&-
rm -rf "$STAND_IN"; mkdir -p "$STAND_IN"
"$launch" -n 3 --oversubscribe -- "$here/stand_in.sh" run --out "$scratch/results.h5" 2>&"$left" &
launched=$!
wait_until 300 "the ranks are at work" ready
echo 0 > "$STAND_IN/end"
check "a reader of its messages that leaves ends nothing" ends_with 0
tidy

started STAND_IN_STAYS=yes
echo 0 > "$STAND_IN/end"
check "a worker that never leaves does not keep the run from ending, with its own status" ends_with 0
check "nothing is said about it" same '' "$(cat "$scratch/log")"
tidy

# A program in the place of mpirun that talks as mpirun does: before the run has begun, and after.
cat > "$scratch/noisy-mpirun" <<'END'
#!/bin/bash
[ "$1" != --version ] || exec mpirun --version
noise() {
  echo "[n1:123] PMIX ERROR: BAD-PARAM in file pmix_event_notification.c at line 1033" >&2
  echo "[n1:123] [[8916,0],0] ORTE_ERROR_LOG: Data unpack would read past end of buffer" >&2
  echo "mpirun: Forwarding signal 18 to job" >&2
}
noise
echo "solving" >&2
while [ "$1" != --out ]; do shift; done
until [ -n "$(find "$BEGUN" -maxdepth 2 -name began)" ]; do
  date +%N > "$2.status"  # as rank 0 writes it every now and then
  sleep 0.1
done
noise
printf 'last words' >&2
while [ "$1" != --exit-status-file ]; do shift; done
echo 0 > "$2"
END
chmod +x "$scratch/noisy-mpirun"
mkdir -p "$scratch/tmp"
rm -f "$scratch/results.h5.status"
start TMPDIR="$scratch/tmp" BEGUN="$scratch/tmp" MPIRUN="$scratch/noisy-mpirun"
check "an mpirun that talks too much is no obstacle" ends_with 0
check "what it says before the run has begun is passed on, and no noise after" \
  same "3 solving last words" "$(grep -c 'n1:123\|Forwarding' "$scratch/log") $(grep -xF 'solving' "$scratch/log") $(tail -n 1 "$scratch/log")"

touch -d '2 hours ago' "$scratch/results.h5.exit-status.elsewhere.1"
started
echo 0 > "$STAND_IN/end"
check "a launch.sh that was killed is no obstacle" ends_with 0
check "what it left is removed" absent "$scratch/results.h5.exit-status.elsewhere.1"

started
kill -KILL "$(rank_pid 0)"
check "launch.sh ends with 1 when rank 0 is killed early" ends_with 1
check "it says how to go on" contains "$scratch/log" "--resume"
tidy

started STAND_IN_DEAF=yes STAND_IN_STATUS='{ "state": "starting" }'
kill -USR1 "$launched"
kill -KILL "$(rank_pid 0)"
check "a run that is stopped before it could start a plan fails: it would be queued again for ever" ends_with 1
check "it says why" contains "$scratch/log" "stopped before any plan could start"
tidy

started WALLHEAT_SILENCE_S=5 OMPI_MCA_odls_base_sigkill_timeout=5
kill -STOP "$(rank_pid 0)"
check "a silent rank 0 is ended, and may still close its file" ends_with 75
check "launch.sh says why it ended the run" contains "$scratch/log" "no sign of life from rank 0 for"
tidy

start WALLHEAT_SILENCE_S=4 STAND_IN_MUTE=yes
check "so is a rank 0 that never gives a sign of life" ends_with 75
tidy

start MPIRUN=/no/such/mpirun
check "a missing mpirun ends with 1" ends_with 1
check "it names the variable to set" contains "$scratch/log" MPIRUN
"$launch" -n 3 > /dev/null 2> "$scratch/log"
check "a command line without -- is wrong usage" same 2 $?
"$launch" -- "$scratch/none" run --out x 2> "$scratch/log"
check "a command that cannot be started ends with 1" same 1 $?
check "it is named" contains "$scratch/log" "$scratch/none"
"$launch" -- "$wallheat" run --data plans > /dev/null 2> "$scratch/log"
check "a command without --out is wrong usage" same 2 $?
check "it is wallheat's own sentence" contains "$scratch/log" "wallheat: --out is missing"
check "and the only one" same 1 "$(wc -l < "$scratch/log")"
"$launch" --help > "$scratch/log"
check "--help says what the statuses mean" contains "$scratch/log" "75 stopped early"

# What it tells mpirun: an mpirun that only writes down how it was called, and ends the run.
cat > "$scratch/mpirun" <<'END'
#!/usr/bin/env bash
if [ "$1" = --version ]; then echo "mpirun (Open MPI) $FAKE_VERSION"; exit 0; fi
{ printf '%s\n' "$@"; env | grep -E '^(OMPI|PRTE)_MCA_'; } > "$STAND_IN/called"
while [ $# -gt 0 ]; do
  case $1 in
    --report-uri) echo '513474560.0;tcp://127.0.0.1:1' > "$2" ;;  # 0x1e9b0000
    --exit-status-file) echo 0 > "$2"; echo "$2" > "$STAND_IN/file" ;;
  esac
  shift
done
exit 1
END
chmod +x "$scratch/mpirun"
fake() {
  env MPIRUN="$scratch/mpirun" FAKE_VERSION="$1" "${@:2}" "$launch" -n 9 -- "$wallheat" run --data plans "${words[@]}" > "$scratch/log" 2>&1
}
words=(--out results.h5)
fake 4.1.4
check "the run's status counts, not mpirun's" same 0 $?
check "outside of Slurm nothing is said about it" not grep -q plm_slurm_args "$STAND_IN/called"
told() { fake "${@:3}"; check "$1" contains "$STAND_IN/called" "$2"; }  # SENTENCE WORDS VERSION [NAME=VALUE...]
told "Open MPI 4 is told to go on after a death" --enable-recovery 4.1.4
told "and to leave binding to the workers" OMPI_MCA_hwloc_base_binding_policy=none 4.1.4
told "and to notice a cut cable" OMPI_MCA_oob_tcp_keepalive_time=2 4.1.4
told "and to reach hosts through the lingering ssh" lingering-ssh.sh 4.1.4
told "in Slurm its steps outlive a node" OMPI_MCA_plm_slurm_args=--no-kill 4.1.4 SLURM_JOB_ID=7
told "what the user has set stays" OMPI_MCA_oob_tcp_keepalive_time=60 4.1.4 OMPI_MCA_oob_tcp_keepalive_time=60
told "Open MPI 5 is told to go on after a death" ulfm 5.0.7
FAKE_VERSION=4 MPIRUN=true "$launch" -- "$wallheat" run --data plans --out x > "$scratch/log" 2>&1
check "another MPI is refused" same 2 $?

cd "$scratch" || exit 1
# file_is SENTENCE NAME [NAME=VALUE...]: the result file, for what `words` say.
file_is() { fake 4.1.4 "${@:3}"; check "$1" contains "$STAND_IN/file" "$(pwd -P)/$2.exit-status."; }
words=(--out=deep/results.h5 --shard 3/16)
file_is "a shard has its own files" deep/results.part-03-of-16.h5
words=(--out results.h5)
file_is "so has a job of a Slurm array" results.part-3-of-4.h5 SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_MIN=2 \
  SLURM_ARRAY_TASK_MAX=11 SLURM_ARRAY_TASK_STEP=3 SLURM_ARRAY_TASK_COUNT=4
fake 4.1.4 LSB_JOBINDEX=9 LSB_JOBINDEX_END=10
check "a shard that cannot be told is wrong usage" same 2 $?
check "it says what to write" contains "$scratch/log" --shard
words=(--shard none --out results.h5)
file_is "--shard none is the whole" results.h5 LSB_JOBINDEX=9 LSB_JOBINDEX_END=10
words=(-oresults.h5)
file_is "-oFILE names the file" results.h5
printf 'data = plans\n# out = no.h5\nout = from config.h5  \n' > "$scratch/run.cfg"
for option in --config -c; do
  words=("$option" "$scratch/run.cfg")
  file_is "--out may stand in a configuration file ($option)" "from config.h5"
done
mkdir target
ln -s target/later.h5 link.h5
words=(--out link.h5)
file_is "a link stands for its target, which need not be there" target/later.h5

# The real program, with a plan that takes for ever: its signs of life are where launch.sh looks for them.
"$wallheat" generate --out plans --count 2 --size 64 > /dev/null
real=("$launch" -n 2 --oversubscribe -- "$wallheat" run --progress none --max-iterations 999999999999)
for there in "nothing yet" "a file"; do
  "${real[@]}" --data plans --out link.h5 --resume --tolerance 0 > log 2>&1 &
  launched=$!
  wait_until 300 "a link to $there: rank 0 gives signs of life beside the target" grep -qs iterations target/later.h5.status
  kill -TERM "$launched"
  check "a link to $there: the run is stopped in good order" ends_with 75
  check "a link to $there: the target is the result file" test -f target/later.h5
done
# A start that takes longer than any silence is allowed: the event log is a pipe that nobody reads yet.
mkfifo events
WALLHEAT_SILENCE_S=6 "$launch" -n 2 --oversubscribe -- "$wallheat" run --data plans --events events --out slow.h5 > log 2>&1 &
launched=$!
signs=0 last=''
sign_again() {
  local sign
  sign=$(stat -c '%i %y' slow.h5.status 2> /dev/null)
  [ -z "$sign" ] || [ "$sign" = "$last" ] || { last=$sign; signs=$((signs + 1)); }
  [ "$signs" = 5 ]
}
wait_until 300 "a run that starts for long gives signs of life" sign_again
cat events > /dev/null &
check "it is not taken for dead" ends_with 0
"${real[@]}" --data nothing --out failed.h5 > log 2>&1
check "a run that fails ends with its own status" same 1 $?
check "in one plain sentence" same 1 "$(wc -l < "$scratch/log")"
tidy

mine=/dev/shm/vader_segment.test.$EUID.1e9b0001.0 other=/dev/shm/vader_segment.test.$EUID.1e9c0001.0
touch "$mine" "$other"
words=(--out results.h5)
fake 4.1.4
check "shared memory that this run has left is removed" absent "$mine"
check "that of other runs is not" test -e "$other"
rm -f "$mine" "$other"
finish
