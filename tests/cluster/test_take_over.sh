#!/usr/bin/env bash
# jobs/take-over.sh: jobs of an array that share what there is to do.
#   test_take_over.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
command -v mpirun > /dev/null || skip "needs mpirun"
cd "$scratch" || exit 1
cleanup() { [ -z "${holder:-}" ] || kill "$holder"; }

# element K: the K-th job of four. Sets status.
element() {
  "$root/jobs/take-over.sh" -n 2 --oversubscribe -- "$wallheat" run --data plans --out r.h5 --resume --log-level warning \
    --shard "$1/4" > "said.$1" 2>&1
  status=$?
}
begun() { find . -name 'r.part-*.h5' | sed 's/.*part-\(.\)-of.*/\1/' | sort | paste -sd ' '; }
"$wallheat" generate --out plans --count 10 --size 32 > /dev/null

# Another job is at shard 3: it holds the lock of that part.
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
wait_until 300 "another job holds part 3" test -s held

"$wallheat" run --data plans --out r.h5 --shard 1/4 --log-level off --time-limit 0s 2> /dev/null  # it was begun, no more
element 2
check "a job solves its shard and those that nobody is at" same 0 $status
check "it leaves alone what another job is at" same '1 2 4' "$(begun)"
check "it says which it goes on with" contains said.2 "nobody is at shard 4/4"
check "also one that was begun" contains said.2 "nobody is at shard 1/4"
before=$(cksum r.part-*.h5)
element 3
check "a job whose shard another is at ends with 0" same 0 $status
element 4
check "a job that starts late ends with 0" same 0 $status
check "and says why" contains said.4 "nothing is left for this one"
check "no part is touched" same "$before" "$(cksum r.part-*.h5)"
kill "$holder"
wait "$holder" 2> /dev/null
holder=''
element 1
check "what a job that died has left is taken" same '1 2 3 4' "$(begun)"
"$wallheat" status r.h5 > looked
check "all parts are solved" same 0 $?
check "their sum is the whole" contains looked "solved   10"
"$wallheat" merge --out r.h5 r.part-*-of-4.h5 > merged
check "and make one file" contains merged "10 of 10, 0 missing, 0 duplicates"

# Jobs that go for the same shards: the lock lets one have each.
rm -f r.h5 r.part-*
pids=()
for k in 1 1 3; do
  (element $k; exit $status) &
  pids+=($!)
done
for pid in "${pids[@]}"; do
  wait "$pid"
  check "one of three jobs at a time ends with 0" same 0 $?
done
"$wallheat" merge --out r.h5 r.part-*-of-4.h5 > merged
check "together they solve all, and nothing twice" contains merged "10 of 10, 0 missing, 0 duplicates"

# A shard that cannot be solved ends the job; it does not try for ever.
rm r.part-2-of-4.h5
mkdir r.part-2-of-4.h5.lock
element 2
check "a shard that cannot be solved is an error" same 1 $status
rm r.part-3-of-4.h5
element 3
check "after others it asks for another start, as its time may have run out" same 75 $status
element 3
check "which does not come back for ever" same 1 $status
"$root/jobs/take-over.sh" -n 2 -- "$wallheat" run --data plans --out x.h5 2> said
check "without --shard it is refused" same 2 $?
finish
