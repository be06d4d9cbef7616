#!/usr/bin/env bash
# Three kinds of job for the same plans, on a real Slurm that belongs to this test and has other jobs to do: one job of
# all nodes, few large elements of an array, many small ones. Each is done as often as said, in turn; a table tells what
# `wallheat advise` forecast and what happened. Some twenty minutes.
#   test_kinds.sh WALLHEAT [TIMES]
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
times=${2:-3}
needs_root_and ip munged slurmctld slurmd sbatch mpirun python3
for program in slurmdbd mariadbd mariadb-install-db; do
  command -v "$program" > /dev/null || skip "needs $program (apt-get install slurmdbd mariadb-server)"
done

nodes=4
install_there
wallheat=$scratch/bin/wallheat
start_slurm $nodes accounting

"$wallheat" generate --out plans --count 64 --size 256 > /dev/null
work=(--threads 1 --tolerance 0 --max-iterations 5000 --progress none)
"$wallheat" run --data plans --out plain.h5 "${work[@]}" --log-level error
echo 'time_limit=5m' > site.sh
submit() { on share/wallheat/jobs/submit.sh --scheduler slurm --site site.sh "$@"; }
accounts() { on env SLURM_TIME_FORMAT=%s sacct -X -n -P -j "$1" -o "$2"; }
# all_ended IDS N    N jobs, each element of an array one
all_ended() { [ "$(accounts "$1" State,End | grep -cvE '^(PENDING|RUNNING|REQUEUED)|Unknown')" = "$2" ]; }
jobs_of() { sed -n 's/^submitted: job \([0-9]*\).*/\1/p' "$1" | paste -sd ,; }

# on_idle_nodes NAME JOBS OPTION...    what a core does here while all nodes are at work, in updates a second, and what a
# job takes beside that, in seconds: all pretended nodes share the cores of this machine
on_idle_nodes() {
  local name=$1 jobs=$2 ids elapsed
  submit "${@:3}" -- --data plans --out "$name.h5" "${work[@]}" > "$name.said"
  ids=$(jobs_of "$name.said")
  wait_until 300 "what runs on idle nodes ends" all_ended "$ids" "$jobs" >&2
  "$wallheat" list "$name.h5" --columns all --json > "$name.json"
  elapsed=$(accounts "${ids%%,*}" Start,End | awk -F '|' '{ all += $2 - $1 } END { print all / NR }')
  python3 - "$nodes" "$elapsed" "$name.json" << 'END_OF_PYTHON'
import json, sys
nodes, elapsed = int(sys.argv[1]), float(sys.argv[2])
with open(sys.argv[3]) as file:
    plans = json.load(file)["plans"]
seconds = sum(plan["seconds"] for plan in plans)
print(sum(plan["iterations"] * plan["interior_cells"] for plan in plans) / seconds, max(1, elapsed - seconds / nodes))
END_OF_PYTHON
}
read -r speed start_up <<< "$(on_idle_nodes idle 1 --nodes $nodes)"
read -r _ start_up_of_element <<< "$(on_idle_nodes idle-array $((nodes + 1)) --nodes 1 --array $nodes)"
echo "a core: $speed updates a second; beside them a job: $start_up s, an element of an array: $start_up_of_element s"

# Other jobs: one to four nodes for some seconds, as many as keep the nodes busy nine tenths of the time.
number() { awk -v seed="$1" -v mean="$2" 'BEGIN { srand(seed); for (i = 0; i < 3; ++i) rand(); printf "%.2f", -mean * log(1 - rand()) }'; }
others() {
  local i width
  for ((i = 1; ; ++i)); do
    width=$((i * 7919 % 11))
    on sbatch --parsable --output=/dev/null --time=1 --exclusive --nodes=$((width < 7 ? 1 : width < 10 ? 2 : 4)) \
      --wrap "sleep $(number "$i" 6)" > /dev/null
    sleep "$(number "$((i + 50000))" 3)"
  done
}
others &
other_jobs=$!
stop_slurm() { "$here/slurm.sh" "$slurm" stop; }
cleanup() { kill "$other_jobs" 2> /dev/null; wait "$other_jobs" 2> /dev/null; stop_slurm; }
started() { [ "$(on sacct -X -n -P -S now-1hours -o State | grep -c COMPLETED)" -ge "$1" ]; }
wait_until 900 "there is a history" started 100

# forecast NODES JOBS    what advise says of this choice now, in seconds: wait, run, done, and how to submit it
forecast() {
  on "$wallheat" advise --json --partition all --core-speed "$speed" --cores-per-node 1 \
    --start-up "$([ "$2" = 1 ] && echo "$start_up" || echo "$start_up_of_element")" -- \
    --data plans --out none.h5 "${work[@]}" | python3 -c '
import json, sys
nodes, jobs = map(int, sys.argv[1:])
choice = next(c for c in json.load(sys.stdin)["choices"] if (c["nodes"], c["jobs"]) == (nodes, jobs))
text = lambda s: "-" if s is None else f"{s:.0f}"
print(text(choice["wait_median_bound_s"]), text(choice["run_s"]), text(choice["done_median_s"]), choice["submit_options"])' "$1" "$2"
}
same_bits() { "$wallheat" compare "$1" "$2" --require-equal > compared; }
# once NAME NODES JOBS    forecasts, does and accounts it; a line of $scratch/NAME
once() {
  local out=$1-$round.h5 options foreseen_wait foreseen_run foreseen ids now
  read -r foreseen_wait foreseen_run foreseen options <<< "$(forecast "$2" "$3")"
  now=$(date +%s)
  # shellcheck disable=SC2086  # several words
  submit $options -- --data plans --out "$out" "${work[@]}" > "$out.said"
  ids=$(jobs_of "$out.said")
  check "$1: the job is taken" test -n "$ids" || cat "$out.said"
  wait_until 900 "$1: its jobs end" all_ended "$ids" $(($3 == 1 ? 1 : $3 + 1))
  check "$1: every bit is that of a plain run" same_bits plain.h5 "$out" || cat compared ./*.out
  accounts "$ids" JobID,Submit,Eligible,Start,End,State
  accounts "${ids%%,*}" Start,End | awk -F '|' -v now="$now" -v foreseen="$foreseen_wait $foreseen_run $foreseen" '
    { if (!first || $1 < first) first = $1; if ($1 > last) last = $1; if ($2 > end) end = $2; run += $2 - $1 }
    END { print foreseen, first - now, last - now, run / NR, end - now }' >> "$1"
}
for ((round = 1; round <= times; ++round)); do
  once one-job $nodes 1
  once few-large 1 $nodes
  once many-small 1 $((4 * nodes))
done
check "each kind was done as often" same "$((3 * times))" "$(cat one-job few-large many-small | wc -l)"

# median FILE COLUMN
median() { awk -v column="$2" '$column != "-" { print $column }' "$1" | sort -n | awk '{ all[NR] = $1 } END { print NR ? all[int((NR + 1) / 2)] : "-" }'; }
{ echo "kind  forecast: wait <  run  done <  happened: first start  last start  run of each  done"
  for kind in "one job of $nodes nodes:one-job" "$nodes large elements:few-large" "$((4 * nodes)) small elements:many-small"; do
    line=${kind%:*}
    for column in 1 2 3 4 5 6 7; do line+="  $(median "${kind#*:}" "$column")"; done
    echo "$line"
  done; } > table
echo "seconds, medians of $times:"
awk -F '  +' '{ printf "| %s", $1; for (i = 2; i <= NF; i++) printf " | %s", $i; print " |" }' table
head one-job few-large many-small
finish
