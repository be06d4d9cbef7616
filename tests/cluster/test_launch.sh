#!/usr/bin/env bash
# Tests jobs/launch.sh on this host with the real mpirun; mostly with a fake wallheat.
#   test_launch.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
mpirun --version 2> /dev/null | grep -q 'Open MPI' || skip "needs mpirun of Open MPI"
launch=$root/jobs/launch.sh
export FAKE_FOLDER=$scratch/fake
cd "$scratch" || exit 1

# start [NAME=VALUE...]: starts a run of three ranks in the background; sets `launched`.
start() {
  rm -rf "$FAKE_FOLDER"
  mkdir -p "$FAKE_FOLDER"
  rm -f results.h5.wal0
  env "$@" "$launch" -n 3 --oversubscribe -- "$here/fake_wallheat.sh" run --out "$scratch/results.h5" > "${log:-log}" 2>&1 &
  launched=$!
}
ready() { [ -s "$FAKE_FOLDER/pid.0" ] && [ -s "$FAKE_FOLDER/pid.1" ] && [ -s "$FAKE_FOLDER/pid.2" ] &&
  grep -qsF "\"$(< "$FAKE_FOLDER/pid.0")\"" results.h5.status; }
launch_over() { ! kill -0 "$launched" 2> /dev/null; }
ready_or_over() { ready || launch_over; }
at_work() {
  wait_until 300 "all ranks are running" ready_or_over
  ready || { echo "FAILED  not all ranks were started; messages:" && cat log; failures=$((failures + 1)); }
}
end_with() { echo "$1" > "$FAKE_FOLDER/end"; }
ends_with() { wait "$launched"; same "$1" $?; }
tidy() { wait_until 300 "no process is left" no_process_is_left; }
shared_memory() { find /dev/shm -name "vader_segment.*.$EUID.*" -newer began 2> /dev/null; }
touch began

for status in 0 3 75 1; do
  start; at_work
  end_with "$status"
  check "launch.sh passes on the exit status $status of the run" ends_with "$status"
done

for signal in TERM USR1 USR2 XCPU QUIT INT HUP; do
  set -m  # otherwise the background job ignores SIGINT
  start
  set +m
  at_work
  kill -$signal "$launched"
  check "SIG$signal to launch.sh stops the run gracefully with 75" ends_with 75
done
check "the message mentions --resume" mentions log --resume
tidy

# A program without MPI is started without mpirun.
export FAKE_MPI=none
alone=(-- "$here/fake_wallheat.sh" run --out "$scratch/results.h5")
for end in 0 3 TERM; do
  rm -rf "$FAKE_FOLDER" results.h5.status
  mkdir -p "$FAKE_FOLDER"
  MPIRUN=none "$launch" "${alone[@]}" > log 2>&1 &
  launched=$!
  wait_until 300 "the run without MPI has started" grep -qs heartbeat results.h5.status
  if [ $end = TERM ]; then kill -TERM "$launched"; else end_with $end; fi
  check "launch.sh passes on the exit status of a run without MPI: $end" ends_with "${end/TERM/75}"
done
tidy
expect_error "a program without MPI cannot be started as several ranks" 2 "launch.sh|MPI|mpirun|--" "$launch" -n 3 "${alone[@]}"
export -n FAKE_MPI

start; at_work
kill -KILL "$launched"
check "launch.sh is killed" ends_with 137
if setpriv --pdeathsig TERM true 2> /dev/null; then wait_until 300 "mpirun ends with a killed launch.sh" no_process_is_left
else echo "skipped: mpirun ends with a killed launch.sh: setpriv not found (util-linux)"; kill "$(pgrep -f -- "$scratch/")"; fi

mkfifo unread
true < unread &  # opens the pipe, and exits
log=unread start
at_work
end_with 75
check "the run continues if the reader of its messages exits" ends_with 75

start FAKE_NEVER_EXITS=yes WALLHEAT_HEARTBEAT_TIMEOUT_S=8; at_work
end_with 0
check "the run ends with its own status although a worker never exits" ends_with 0
check "launch.sh prints no message about that worker" same '' "$(< log)"
tidy

# A fake mpirun that prints messages of Open MPI before the start of the run and after it.
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
printf '{\n "started_utc": "noisy",\n "exit_status": 0\n}\n' > "$2.status"
noise
printf 'last line' >&2
END
chmod +x noisy-mpirun
start MPIRUN="$scratch/noisy-mpirun"
check "the run succeeds with a noisy mpirun" ends_with 0
check "messages of mpirun are passed on before the start of the run, and suppressed after it" \
  same "3 solving last line" "$(grep -c 'n1:123\|Forwarding' log) $(grep -xF solving log) $(tail -n 1 log)"

# A fake mpirun that fails while the process of launch.sh that prints its messages is suspended for some seconds.
cat > failing-late-mpirun <<'END'
#!/bin/bash
[ "$1" != --version ] || exec mpirun --version
printf -- '----------\nno slots\n----------\n' >&2
for child in $(< "/proc/$PPID/task/$PPID/children"); do [ "$child" = $$ ] || filter=$child; done
kill -STOP "$filter"
(sleep 3; kill -CONT "$filter") > /dev/null 2>&1 &
END
chmod +x failing-late-mpirun
start MPIRUN="$scratch/failing-late-mpirun"
check "a run fails whose messages are late" ends_with 1
check "launch.sh waits for the messages before it reports their error" mentions log launch.sh "no slots"

# The status file of the last run, which ended with 0, is not the one of the next run.
cat > silent-mpirun <<'END'
#!/bin/bash
[ "$1" != --version ] || exec mpirun --version
END
chmod +x silent-mpirun
start MPIRUN="$scratch/silent-mpirun"
check "an older exit status is not the one of this run" ends_with 1
check "the message mentions the status file" mentions log launch.sh results.h5.status
check "the message does not mention the time limit, because no time limit ended the run" not grep -qw "time limit" log
rm results.h5.status
start MPIRUN="$scratch/silent-mpirun"
check "a missing exit status is a failure" ends_with 1

# kill_rank_0 SESSION: `status --session-exit-status` ends with SESSION, because launch.sh calls it soon after the kill.
kill_rank_0() { echo "$1" > "$FAKE_FOLDER/session"; kill -KILL "$(< "$FAKE_FOLDER/pid.0")"; }
killed() { start "${@:2}"; at_work; kill_rank_0 "$1"; }  # SESSION [NAME=VALUE...]
killed 1
check "a run whose rank 0 is killed before it solves a plan fails, as its job would be requeued indefinitely" ends_with 1
check "the message mentions rank 0" mentions log launch.sh "rank 0"
for session in 75 0 3; do
  killed "$session"
  check "a run whose rank 0 is killed never ends with 0 or 3 (status --session-exit-status: $session)" ends_with $((session == 75 ? 75 : 1))
done
# A container has a command 'run' of its own.
cat > container <<'END'
#!/bin/bash
[ "$1 $2" = "run image" ] || exit 9
shift 2
exec "$@"
END
chmod +x container
cp "$here/fake_wallheat.sh" wallheat-of-image
rm -rf "$FAKE_FOLDER"
mkdir -p "$FAKE_FOLDER"
"$launch" -n 3 --oversubscribe -- "$scratch/container" run image "$scratch/wallheat-of-image" run --out "$scratch/results.h5" > log 2>&1 &
launched=$!
at_work
kill_rank_0 75
check "launch.sh reads the session of a killed run in a container" ends_with 75
killed 75 FAKE_LOCKED_OUT=yes
check "a run that another run has locked out fails" ends_with 1
check "the message mentions the result file" mentions log launch.sh "$scratch/results.h5"
# The status file of a run whose rank 0 was killed on another host is recent for a while.
start; at_work
touch "$FAKE_FOLDER/running"
kill_rank_0 75
check "the last heartbeat of a killed rank 0 is not taken for one of another run" ends_with 75

start FAKE_ONLY_JOURNAL=yes WALLHEAT_HEARTBEAT_TIMEOUT_S=5; at_work
end_with 0
check "a run whose status file cannot be written is not terminated while its journal grows" ends_with 0

start WALLHEAT_HEARTBEAT_TIMEOUT_S=8 OMPI_MCA_odls_base_sigkill_timeout=10; at_work
kill -STOP "$(< "$FAKE_FOLDER/pid.0")"
check "rank 0 is stopped after the heartbeat timeout, and can still close its file" ends_with 75
check "the message mentions rank 0" mentions log launch.sh "rank 0"
check "the message mentions the timeout, which is twice as long before the first heartbeat" grep -qE "\b(8|16) s\b" log
start WALLHEAT_HEARTBEAT_TIMEOUT_S=8 FAKE_NO_HEARTBEAT=yes
check "rank 0 is stopped if it never writes a heartbeat" ends_with 75
tidy

one_message() { [ "$(wc -l < "$scratch/error.err")" = 1 ]; }
expect_error "a command line without --" 2 "launch.sh|mpirun|--" "$launch" -n 3
expect_error "a command that cannot be started" 1 "launch.sh|$scratch/none" "$launch" -- "$scratch/none" run --out x
expect_error "a command without --out" 2 "wallheat|--out|wallheat help run" "$launch" -- "$wallheat" run --data plans
check "a command without --out: there is one message" one_message
expect_error "another MPI" 1 "launch.sh|true|Open MPI|MPIRUN" env MPIRUN=true "$launch" -- "$wallheat" run --data plans --out x
printf '#!/bin/bash\nexit 1\n' > failing-mpirun
chmod +x failing-mpirun
expect_error "a mpirun that cannot be started" 1 "launch.sh|failing-mpirun|MPIRUN|ulimit -u" \
  env MPIRUN="$scratch/failing-mpirun" "$launch" -- "$wallheat" run --data plans --out x

# Options and environment of mpirun: a fake mpirun that only records them.
cat > mpirun <<'END'
#!/usr/bin/env bash
if [ "$1" = --version ]; then echo "mpirun (Open MPI) $FAKE_VERSION"; exit 0; fi
{ printf '%s\n' "$@"; env | grep -E '^(OMPI|PRTE)_MCA_|^SLURM_EXPORT_ENV='; } > "$FAKE_FOLDER/called"
END
chmod +x mpirun
fake() { env MPIRUN="$scratch/mpirun" FAKE_VERSION="$1" "${@:2}" "$launch" -n 9 -- "$wallheat" run --data plans --out r.h5 > log 2>&1; }
passes() { fake "${@:3}"; check "$1" contains "$FAKE_FOLDER/called" "$2"; }  # DESCRIPTION ARGUMENT VERSION [NAME=VALUE...]
passes "Open MPI 4 is configured to survive the death of a rank" --enable-recovery 4.1.4
check "options for Slurm are not passed outside of Slurm" not grep -q plm_slurm_args "$FAKE_FOLDER/called"
passes "mpirun does not bind the workers" OMPI_MCA_hwloc_base_binding_policy=none 4.1.4
passes "a network failure is detected" OMPI_MCA_oob_tcp_keepalive_time=2 4.1.4
passes "hosts are reached through delayed-exit-ssh.sh" delayed-exit-ssh.sh 4.1.4
passes "in Slurm the job step survives a node failure" OMPI_MCA_plm_slurm_args=--no-kill 4.1.4 SLURM_JOB_ID=7
passes "mpirun's daemons on other nodes get the environment where sbatch has --export=NONE" SLURM_EXPORT_ENV=ALL 4.1.4 \
  SLURM_JOB_ID=7 SLURM_EXPORT_ENV=NONE
passes "settings of the user take precedence" OMPI_MCA_oob_tcp_keepalive_time=60 4.1.4 OMPI_MCA_oob_tcp_keepalive_time=60
passes "Open MPI 5 is configured to survive the death of a rank" ulfm 5.0.7
check "a run without a session in the result file fails" not fake 4.1.4

# Interfaces that have the same address on all hosts. The choice of the user takes precedence: Open MPI does not accept
# lists of both kinds.
interfaces() { grep -oE '^OMPI_MCA_(btl|oob)_tcp_if_exclude=.*docker0' "$FAKE_FOLDER/called" | cut -d _ -f 3 | sort | paste -sd ' '; }
# excluded "FRAMEWORKS" "DESCRIPTION" [NAME=VALUE...]
excluded() { fake 4.1.4 "${@:3}"; check "$2" same "$1" "$(interfaces)"; }
excluded "btl oob" "interfaces of containers are excluded"
excluded "oob" "interfaces for results that the user includes take precedence" OMPI_MCA_btl_tcp_if_include=eth0
excluded "btl" "interfaces for mpirun that the user includes take precedence" OMPI_MCA_oob_tcp_if_include=eth0
excluded "oob" "interfaces that the user excludes take precedence" OMPI_MCA_btl_tcp_if_exclude=lo,eth7
printf '#!/bin/bash\necho "mca:oob:tcp:param:oob_tcp_if_include:source:file (/site.conf)"\n' > ompi_info
chmod +x ompi_info
excluded "btl" "interfaces that the site includes take precedence"
rm ompi_info

# The real program, with a plan that takes forever: launch.sh must find its heartbeats.
"$wallheat" generate --out plans --count 2 --size 64 > /dev/null
mkdir target
ln -s target/later.h5 link.h5
solving() { grep -qs '"state": "running"' "$1.status" && grep -q iterations "$1.status"; }
real=("$wallheat" launch -n 2 --oversubscribe -- "$wallheat" run --progress none)
for target in "a missing file" "a file"; do
  "${real[@]}" --data plans --max-iterations 999999999999 --tolerance 0 --out link.h5 --resume > log 2>&1 &
  launched=$!
  wait_until 300 "a link to $target: rank 0 writes heartbeats next to the target" solving target/later.h5
  kill -TERM "$launched"
  check "a link to $target: the run stops gracefully" ends_with 75
  check "a link to $target: the target is the result file" test -f target/later.h5
done
# Errors of mpirun itself.
unstarted() {  # DESCRIPTION "FACT|FACT" [OPTIONS OF mpirun]
  expect_error "$1" 1 "launch.sh|mpirun|$2" "$launch" "${@:3}" -- "$wallheat" run --data plans --out unstarted.h5
  check "$1: the message does not mention the time limit" not grep -qw "time limit" <(tail -n 1 "$scratch/error.err")
}
unstarted "too few slots" "slots|999" -n 999
unstarted "a missing hostfile" "hostfile|$scratch/no-hosts" -n 2 --hostfile "$scratch/no-hosts"
printf '#!/bin/bash\necho "ssh: connect to host port 22: Connection refused" >&2\nexit 255\n' > refusing-ssh
chmod +x refusing-ssh
WALLHEAT_SSH=$scratch/refusing-ssh unstarted "a host that refuses ssh" "ssh|refused" -n 2 --host 192.0.2.1
touch refused.h5
expect_error "a run that is refused" 1 "launch.sh|refused.h5.status" "${real[@]}" --data plans --out refused.h5
check "a run that is refused: the message does not name mpirun" not grep -qw "mpirun" <(tail -n 1 "$scratch/error.err")
cat > waiting-mpirun <<'END'
#!/bin/bash
[ "$1" != --version ] || exec mpirun --version
trap 'exit 1' USR1 TERM
touch waiting
until false; do sleep 0.1; done
END
chmod +x waiting-mpirun
MPIRUN=$scratch/waiting-mpirun "$launch" -- "$wallheat" run --data plans --out unstarted.h5 > log 2>&1 &
launched=$!
wait_until 300 "mpirun is running" test -e waiting
kill -USR1 "$launched"
check "a run that is stopped before it starts fails" ends_with 1
check "a run that is stopped before it starts: the message mentions the time limit" mentions log launch.sh "time limit" --resume

# A start that takes longer than the heartbeat timeout: the event log is a pipe without a reader.
mkfifo events
WALLHEAT_HEARTBEAT_TIMEOUT_S=6 "${real[@]}" --data plans --events events --out slow.h5 > log 2>&1 &
launched=$!
heartbeats=0 last=''
five_heartbeats() {
  local heartbeat
  heartbeat=$(stat -c '%i %y' slow.h5.status 2> /dev/null)
  [ -z "$heartbeat" ] || [ "$heartbeat" = "$last" ] || { last=$heartbeat; heartbeats=$((heartbeats + 1)); }
  [ "$heartbeats" = 5 ]
}
wait_until 300 "a run with a slow start writes heartbeats" five_heartbeats
cat events > /dev/null &
check "a run with a slow start is not stopped" ends_with 0
"${real[@]}" --data plans --out slow.h5 --resume > log 2>&1
check "a run without pending plans ends with 0" same 0 $?
expect_error "a resume with other settings, after a successful run" 1 "wallheat|slow.h5|--save-fields" \
  "${real[@]}" --data plans --out slow.h5 --resume --save-fields
# Open MPI leaks memory if a run fails.
expect_error "a run that fails" 1 "wallheat|--data|nothing" env ASAN_OPTIONS=detect_leaks=0 "${real[@]}" --data nothing --out failed.h5
check "a run that fails: there is one message" one_message
tidy
# A mpirun that leaves files behind, with the content that another user may have planted.
cat > leaving-mpirun << 'END'
#!/usr/bin/env bash
case ${1:-} in --version) echo 'mpirun (Open MPI) 4.1.4'; exit ;; esac
folder=$TMPDIR/ompi.$HOSTNAME.$EUID
mkdir -p "$folder/pid.$$"
printf '%s\n' "$CONTACT" > "$folder/pid.$$/contact.txt"
[ -z "${OWNER:-}" ] || chown -R "$OWNER" "$folder"
END
chmod +x leaving-mpirun
# leave CONTACT [OWNER]: runs launch.sh with files that mpirun left in the folder left.
leave() {
  rm -rf left
  mkdir left
  CONTACT=$1 OWNER=${2:-} TMPDIR=$scratch/left MPIRUN=$scratch/leaving-mpirun \
    "$launch" -- "$here/fake_wallheat.sh" run --out "$scratch/results.h5" > log 2>&1 || true
}
left_files() { find left -name contact.txt | wc -l; }
for contact in "EUID[\$(touch evaluated)0].0;tcp://" '08.0;tcp://' '' '-1.0' '99999999999999999999.0'; do
  leave "$contact"
  check "launch.sh does not evaluate the contact file '${contact%%[*}'" same 'no 0' \
    "$([ ! -e evaluated ] && echo no || echo yes) $(left_files)"
  check "launch.sh prints no error about it" not grep -q 'launch.sh: line' log
done
if [ $EUID = 0 ]; then
  segment=/dev/shm/vader_segment.test.0.1edd0000.0  # of the job 0x1edd0000
  : > "$segment"
  leave "$((0x1edd0000)).0;tcp://" 65534
  check "launch.sh neither trusts nor removes files of another user" same 'kept 1' "$([ -e "$segment" ] && echo kept) $(left_files)"
  leave "$((0x1edd0000)).0;tcp://"
  check "launch.sh removes the files of the mpirun that it started" same ' 0' "$([ -e "$segment" ] && echo kept) $(left_files)"
fi

# Shared memory of concurrent tests disappears when they end.
mapfile -t left < <(shared_memory)
none_left() { local each; for each in "${left[@]}"; do [ ! -e "$each" ] || return 1; done; }
wait_until 300 "no shared memory is left" none_left
finish
