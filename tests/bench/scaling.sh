#!/bin/bash
# How well two workers use two cores, and how much memory a worker takes.
#
# Scaling: `wallheat run` in one process with one solver thread, and mpirun with rank 0 and two workers
# of one thread each, in turns on the same plans. Both are timed by the run's own clock, which is in
# the result file (from the first message to the last stored row), and from outside, with the start of
# mpirun and MPI, which a long run does not notice.
# Memory: the largest resident set of a worker rank, with 1 and 2 threads, without and with fields.
set -euo pipefail

repository=$(cd "$(dirname "$0")/../.." && pwd)
wallheat=$repository/build/wallheat
plans=24
repeat=5
data=
declare -i memory=1

usage() {
  cat <<END
Usage: scaling.sh [--wallheat PATH] [--plans N] [--repeat N] [--data DIR] [--no-memory]
  --wallheat PATH   the program (default: build/wallheat of this repository)
  --plans N         plans a run (default: $plans)
  --repeat N        runs of each kind (default: $repeat)
  --data DIR        floor plans to use (default: generated ones, removed at the end)
  --no-memory       only the scaling
END
}

fail() {
  echo "scaling.sh: $1" >&2
  exit "${2:-1}"
}

while (($# > 0)); do
  case $1 in
    --wallheat) wallheat=${2:?PATH is missing}; shift ;;
    --plans) plans=${2:?N is missing}; shift ;;
    --repeat) repeat=${2:?N is missing}; shift ;;
    --data) data=${2:?DIR is missing}; shift ;;
    --no-memory) memory=0 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
[[ -x $wallheat ]] || fail "$wallheat does not exist; build it, or name it by --wallheat"
for program in mpirun h5dump; do
  command -v "$program" > /dev/null || fail "$program is missing; on Debian: apt install openmpi-bin hdf5-tools"
done
[[ -x /usr/bin/time ]] || fail "/usr/bin/time is missing; on Debian: apt install time"

# Open MPI refuses to work for root, who is the only user in many a container.
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [[ -z $data ]]; then
  data=$scratch/plans
  "$wallheat" generate --out "$data" --count "$plans" > /dev/null
fi

# Seconds of CPU that the machine spent or lost to its host since it started.
processors_of_all() {
  awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { print ($2 + $3 + $4 + $7 + $8 + $9) / hz }' /proc/stat
}

# solve NAME COMMAND...: one run; leaves its seconds in $inside and $outside, the seconds of CPU of its
# processes in $ours, and those of all others in $others: a run beside a busy neighbour says little.
solve() {
  local out=$scratch/$1.h5 start end all
  shift
  rm -f "$scratch"/time.*
  all=$(processors_of_all)
  start=$EPOCHREALTIME
  # shellcheck disable=SC2016
  "$@" /bin/bash -c '/usr/bin/time -o "$0/time.${OMPI_COMM_WORLD_RANK:-0}" -f "%M %U %S" "${@:1}"' "$scratch" \
    "$wallheat" run --data "$data" --first "$plans" --out "$out" --overwrite --progress none --device cpu \
    "${options[@]}" 2> "$scratch/log" || { cat "$scratch/log" >&2; fail "a run failed"; }
  end=$EPOCHREALTIME
  outside=$(awk "BEGIN { print $end - $start }")
  ours=$(awk '{ total += $2 + $3 } END { printf "%.2f", total }' "$scratch"/time.*)
  others=$(awk "BEGIN { printf \"%.2f\", $(processors_of_all) - $all - $ours }")
  inside=$(h5dump -A "$out" | awk '/ATTRIBUTE "/ { found = /"seconds"/ }
                                   found && /\(0\):/ { gsub(/"/, "", $2); print $2 }')
  [[ $inside =~ ^[0-9.]+$ ]] || fail "$out names no seconds of its session"
}

workers() { mpirun -n "$(($1 + 1))" --oversubscribe --bind-to none "${@:2}"; }

# summarise NAME: "min median" of the numbers in a file, one a line.
summarise() {
  sort -g "$scratch/$1" | awk '{ v[NR] = $1 } END { print v[1], NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

compare() {
  local one_min one_median two_min two_median
  read -r one_min one_median < <(summarise "one.$1")
  read -r two_min two_median < <(summarise "two.$1")
  awk -v what="$2" "BEGIN { printf \"%-20s one worker %7.3f s (min %7.3f), two %7.3f s (min %7.3f): \", what, \
    $one_median, $one_min, $two_median, $two_min; \
    printf \"ratio of medians %.2f, of minima %.2f\\n\", $one_median / $two_median, $one_min / $two_min }"
}

echo "$plans plans, $repeat runs of each kind in turns, $(nproc) cores"
options=(--threads 1)
for ((run = 1; run <= repeat; ++run)); do
  solve one env
  echo "$inside" >> "$scratch/one.inside"
  echo "$outside" >> "$scratch/one.outside"
  printf 'run %d: one worker %.3f s (CPU: %s s, others %s s)' "$run" "$inside" "$ours" "$others"
  solve two workers 2
  echo "$inside" >> "$scratch/two.inside"
  echo "$outside" >> "$scratch/two.outside"
  printf ', two %.3f s (CPU: %s s, others %s s)\n' "$inside" "$ours" "$others"
done
compare inside "by the run's clock:"
compare outside "from outside:"

((memory)) || exit 0
for fields in "" --save-fields; do
  for threads in 1 2; do
    options=(--threads "$threads" ${fields:+"$fields"})
    solve memory workers 1
    printf 'memory of a worker with %d thread(s)%-15s %5.1f MB (target: %d MB), of rank 0 %5.1f MB\n' "$threads" \
      "${fields:+ $fields}:" "$(awk '{ print $1 * 1024 / 1e6 }' "$scratch/time.1")" "$((60 + 10 * threads))" \
      "$(awk '{ print $1 * 1024 / 1e6 }' "$scratch/time.0")"
  done
done
