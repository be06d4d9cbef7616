#!/usr/bin/env bash
# Tests jobs/take-over.sh: jobs of an array that take over shards of other jobs.
#   test_take_over.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
command -v mpirun > /dev/null || skip "needs mpirun"
cd "$scratch" || exit 1
cleanup() { [ -z "${holder:-}" ] || kill "$holder"; }

# numbers_in FILE: of n of m plans, missing, duplicates, conflicts
numbers_in() { grep -o '[0-9]\+' "$1" | paste -sd ' '; }
# element K: runs the K-th job of an array of four. Sets status.
element() {
  "$root/jobs/take-over.sh" -n 2 --oversubscribe -- "$wallheat" run --data plans --out r.h5 --resume --log-level warning \
    --shard "$1/4" > "messages.$1" 2>&1
  status=$?
}
started() { find . -name 'r.part-*.h5' | sed 's/.*part-\(.\)-of.*/\1/' | sort | paste -sd ' '; }
"$wallheat" generate --out plans --count 10 --size 32 > /dev/null

# Another job is solving shard 3: it holds the lock of that shard file.
python3 - "$PWD/r.part-3-of-4.h5.lock" > held <<'END' &
import fcntl, os, platform, signal, sys
lock = open(sys.argv[1], "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
lock.write(f"host {platform.node()}\npid {os.getpid()}\n")
lock.flush()
print("yes", flush=True)
signal.pause()
END
holder=$!
wait_until 300 "another job holds the lock of shard 3" test -s held

"$wallheat" run --data plans --out r.h5 --shard 1/4 --log-level off --time-limit 0s 2> /dev/null  # started without solving a plan
element 2
check "a job solves its own shard and idle shards" same 0 $status
check "a job skips the shard of another job" same '1 2 4' "$(started)"
check "the message names an idle shard" mentions messages.2 "shard 4/4"
check "the message names an idle shard that was started before" mentions messages.2 "shard 1/4"
check "the message does not name the shard of another job" not grep -qwF "shard 3/4" messages.2
before=$(cksum r.part-*.h5)
element 3
check "a job whose shard is locked ends with 0" same 0 $status
element 4
check "a job that starts late ends with 0" same 0 $status
check "a job that starts late prints a message" mentions messages.4 take-over.sh
check "the message names no shard, because the job is idle" not grep -q "shard [0-9]" messages.4
check "no shard file changes" same "$before" "$(cksum r.part-*.h5)"
kill "$holder"
wait "$holder" 2> /dev/null
holder=''
element 1
check "the shard of a dead job is taken over" same '1 2 3 4' "$(started)"
"$wallheat" status r.h5 --json > status.json
check "all shards are solved" same 0 $?
check "the shards have all plans" contains status.json '"solved": 10,'
"$wallheat" merge --out r.h5 r.part-*-of-4.h5 > merged
check "the merged file has all plans once" same '10 10 0 0 0' "$(numbers_in merged)"

# Jobs that compete for the same shards: the lock admits one job per shard.
rm -f r.h5 r.part-*
pids=()
for k in 1 1 3; do
  (element $k; exit $status) &
  pids+=($!)
done
for pid in "${pids[@]}"; do
  wait "$pid"
  check "one of three concurrent jobs ends with 0" same 0 $?
done
"$wallheat" merge --out r.h5 r.part-*-of-4.h5 > merged
check "concurrent jobs solve each plan once" same '10 10 0 0 0' "$(numbers_in merged)"

# A shard that cannot be solved ends the job, without endless retries.
rm r.part-2-of-4.h5
mkdir r.part-2-of-4.h5.lock
element 2
check "a shard that cannot be solved is an error" same 1 $status
rm r.part-3-of-4.h5
element 3
check "after solving other shards it requests a requeue, as its time may have run out" same 75 $status
element 3
check "a job that solves no other shard is not requeued indefinitely" same 1 $status
expect_error "a command without --shard" 2 "take-over.sh|--shard" "$root/jobs/take-over.sh" -n 2 -- "$wallheat" run --data plans --out x.h5
finish
