#!/usr/bin/env bash
# jobs/launch.sh on this host, under the real mpirun; mostly with a stand-in for wallheat.
#   test_launch.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
mpirun --version 2> /dev/null | grep -q 'Open MPI' || skip "needs mpirun of Open MPI"
launch=$root/jobs/launch.sh
export STAND_IN=$scratch/stand-in
cd "$scratch" || exit 1

# start [NAME=VALUE...]: a run of three ranks in the background; sets `launched`.
start() {
  rm -rf "$STAND_IN"
  mkdir -p "$STAND_IN"
  env "$@" "$launch" -n 3 --oversubscribe -- "$here/stand_in.sh" run --out "$scratch/results.h5" > "${log:-log}" 2>&1 &
  launched=$!
}
ready() { [ -s "$STAND_IN/pid.0" ] && [ -s "$STAND_IN/pid.1" ] && [ -s "$STAND_IN/pid.2" ] && [ -e results.h5.status ]; }
at_work() { wait_until 300 "the ranks are at work" ready; }
end_with() { echo "$1" > "$STAND_IN/end"; }
ends_with() { wait "$launched"; same "$1" $?; }
tidy() { wait_until 300 "no process is left" nothing_left; }
shared_memory() { find /dev/shm -name "vader_segment.*.$EUID.*" -newer began 2> /dev/null; }
touch began

for status in 0 3 75 1; do
  start; at_work
  end_with "$status"
  check "a run that ends with $status makes launch.sh end with $status" ends_with "$status"
done

for signal in TERM USR1 USR2 XCPU QUIT INT HUP; do
  set -m  # or the background job would be deaf to SIGINT
  start
  set +m
  at_work
  kill -$signal "$launched"
  check "SIG$signal to launch.sh stops the run in good order, with 75" ends_with 75
done
check "it says how to go on" contains log "--resume"
tidy

start; at_work
kill -KILL "$launched"
check "a launch.sh that is killed" ends_with 137
if setpriv --pdeathsig TERM true 2> /dev/null; then wait_until 300 "takes its mpirun along" nothing_left
else echo "skipped: that mpirun goes with it: no setpriv here (util-linux)"; kill "$(pgrep -f -- "$scratch/")"; fi

mkfifo unread
true < unread &  # opens it, and leaves
log=unread start
at_work
end_with 75
check "a reader of its messages that leaves ends nothing" ends_with 75

start STAND_IN_STAYS=yes WALLHEAT_SILENCE_S=4; at_work
end_with 0
check "a worker that never leaves does not keep the run from ending, with its own status" ends_with 0
check "nothing is said about it" same '' "$(< log)"
tidy

# A program in the place of mpirun that talks as mpirun does: before the run has begun, and after.
cat > noisy-mpirun <<'END'
#!/bin/bash
[ "$1" != --version ] || exec mpirun --version
noise() {
  echo "[n1:123] PMIX ERROR: BAD-PARAM in file pmix_event_notification.c at line 1033" >&2
  echo "[n1:123] [[8916,0],0] ORTE_ERROR_LOG: Data unpack would read past end of buffer" >&2
  echo "mpirun: Forwarding signal 18 to job" >&2
}
noise
while [ "$1" != --out ]; do shift; done
echo solving >&2
until grep -q solving log; do sleep 0.1; done
touch "$2.status"
noise
printf 'last words' >&2
echo 0 > "$STAND_IN/session"
END
chmod +x noisy-mpirun
rm -f results.h5.status
start MPIRUN="$scratch/noisy-mpirun"
check "an mpirun that talks too much is no obstacle" ends_with 0
check "what it says before the run has begun is passed on, and no noise after" \
  same "3 solving last words" "$(grep -c 'n1:123\|Forwarding' log) $(grep -xF solving log) $(tail -n 1 log)"
rm -f results.h5.status

start STAND_IN_DEAF=yes; at_work
kill -USR1 "$launched"
kill -KILL "$(< "$STAND_IN/pid.0")"
check "a run that solves nothing fails: it would be queued again for ever" ends_with 1
check "it says why, and how to go on" contains log "before it solved anything; if it had too little time, give it more, and go on with --resume"

start WALLHEAT_SILENCE_S=5 OMPI_MCA_odls_base_sigkill_timeout=5; at_work
kill -STOP "$(< "$STAND_IN/pid.0")"
check "a silent rank 0 is ended, and may still close its file" ends_with 75
check "launch.sh says why it ended the run" contains log "no sign of life from rank 0 for"
start WALLHEAT_SILENCE_S=4 STAND_IN_MUTE=yes
check "so is a rank 0 that never gives a sign of life" ends_with 75
tidy

# refused SENTENCE STATUS WORDS COMMAND...
refused() {
  "${@:4}" > log 2>&1
  check "$1: the status is $2" same "$2" $?
  check "$1: it says so" contains log "$3"
}
refused "a command line without --" 2 "options of mpirun come before --" "$launch" -n 3
refused "a command that cannot be started" 1 "$scratch/none" "$launch" -- "$scratch/none" run --out x
refused "a command without --out" 2 "wallheat: --out is missing; see 'wallheat help run'" "$launch" -- "$wallheat" run --data plans
check "it is wallheat's own sentence, and the only one" same 1 "$(wc -l < log)"
refused "another MPI" 1 "set MPIRUN" env MPIRUN=true "$launch" -- "$wallheat" run --data plans --out x

# What it tells mpirun: an mpirun that only writes down how it was called.
cat > mpirun <<'END'
#!/usr/bin/env bash
if [ "$1" = --version ]; then echo "mpirun (Open MPI) $FAKE_VERSION"; exit 0; fi
{ printf '%s\n' "$@"; env | grep -E '^(OMPI|PRTE)_MCA_'; } > "$STAND_IN/called"
END
chmod +x mpirun
fake() { env MPIRUN="$scratch/mpirun" FAKE_VERSION="$1" "${@:2}" "$launch" -n 9 -- "$wallheat" run --data plans --out r.h5 > log 2>&1; }
told() { fake "${@:3}"; check "$1" contains "$STAND_IN/called" "$2"; }  # SENTENCE WORDS VERSION [NAME=VALUE...]
told "Open MPI 4 is told to go on after a death" --enable-recovery 4.1.4
check "outside of Slurm nothing is said about it" not grep -q plm_slurm_args "$STAND_IN/called"
told "binding is left to the workers" OMPI_MCA_hwloc_base_binding_policy=none 4.1.4
told "a cut cable is noticed" OMPI_MCA_oob_tcp_keepalive_time=2 4.1.4
told "hosts are reached through the lingering ssh" lingering-ssh.sh 4.1.4
told "in Slurm its steps outlive a node" OMPI_MCA_plm_slurm_args=--no-kill 4.1.4 SLURM_JOB_ID=7
told "what the user has set stays" OMPI_MCA_oob_tcp_keepalive_time=60 4.1.4 OMPI_MCA_oob_tcp_keepalive_time=60
told "Open MPI 5 is told to go on after a death" ulfm 5.0.7
check "a run of which nothing is left in a file has failed" not fake 4.1.4

# The real program, with a plan that takes for ever: its signs of life are where launch.sh looks for them.
"$wallheat" generate --out plans --count 2 --size 64 > /dev/null
mkdir target
ln -s target/later.h5 link.h5
real=("$wallheat" launch -n 2 --oversubscribe -- "$wallheat" run --progress none)
for there in "nothing yet" "a file"; do
  "${real[@]}" --data plans --max-iterations 999999999999 --tolerance 0 --out link.h5 --resume > log 2>&1 &
  launched=$!
  wait_until 300 "a link to $there: rank 0 gives signs of life beside the target" grep -qs iterations target/later.h5.status
  kill -TERM "$launched"
  check "a link to $there: the run is stopped in good order" ends_with 75
  check "a link to $there: the target is the result file" test -f target/later.h5
done
# A start that takes longer than any silence is allowed: the event log is a pipe that nobody reads yet.
mkfifo events
WALLHEAT_SILENCE_S=6 "${real[@]}" --data plans --events events --out slow.h5 > log 2>&1 &
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
"${real[@]}" --data plans --out slow.h5 --resume > log 2>&1
check "a run that has nothing to do ends with 0" same 0 $?
refused "a resume that is refused, whatever an earlier run ended with" 1 "was made with other settings" \
  "${real[@]}" --data plans --out slow.h5 --resume --save-fields
# Open MPI leaks, if a run fails.
refused "a run that fails" 1 "there is no directory" env ASAN_OPTIONS=detect_leaks=0 "${real[@]}" --data nothing --out failed.h5
check "it is one plain sentence" same 1 "$(wc -l < log)"
tidy
# That of other tests, which run beside this one, goes when they end.
mapfile -t left < <(shared_memory)
none_left() { local each; for each in "${left[@]}"; do [ ! -e "$each" ] || return 1; done; }
wait_until 300 "no shared memory is left" none_left
finish
