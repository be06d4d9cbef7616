#!/usr/bin/env bash
# Writes the job script for a campaign on a Slurm or LSF cluster, and submits it.
#
#   jobs/submit.sh [OPTIONS] -- --data DIR --out FILE [OPTIONS OF wallheat run]
#
#   --dry-run             print what would be submitted, even if it could not run; submit nothing
#   --scheduler NAME      slurm or lsf (default: whichever is here)
#   --nodes N             nodes for each job (default: 1)
#   --gpus G              GPUs on each node (default: 0)
#   --workers W           worker ranks on each node (default: one, or one for each GPU)
#   --memory GB           memory on each node (default: what the site gives)
#   --array N             N jobs, each with its share of the plans and its own part file; a last
#                         job merges the parts into --out. Where the site takes no array of N
#                         jobs, it becomes several
#   --running K           at most K of them at a time (default: as many as there is room for)
#   --take-over           a job that is done goes on with parts that no job is at, until its time
#                         is up; one that starts late and finds nothing left ends at once. Plans
#                         that failed are not tried again
#   --time TIME           time limit of a job: 4h, 90m, 1h30m, 2d or 1:30:00 (default: that of the
#                         site file)
#   --partition NAME      partition or LSF queue (default: what the site file says)
#   --advise              print where the plans that are left are done soonest, and what it costs
#                         ('wallheat advise'); submit nothing
#   --take-advice         the same, but submit the best choice: its partition, nodes, GPUs, array,
#                         --running and time limit
#   --name NAME           of the job (default: wallheat)
#   --site FILE           what is special about your cluster; what it does not say is taken from
#                         configs/site.sh
#
#   jobs/submit.sh --nodes 4 --dry-run -- --data plans --out results.h5
#   jobs/submit.sh --array 16 -- --data plans --out results.h5 --save-fields
#   jobs/submit.sh --array 200 --running 10 --time 20m -- --data plans --out results.h5
#   jobs/submit.sh --take-advice -- --data plans --out results.h5
#
# Nothing is submitted that cannot run, or that has nothing left to solve: 'wallheat run --check'
# looks first.
# A job that its time limit stops goes back into the queue and takes up where it was. Submit the
# same again after any other end: what is solved is not solved again.
set -euo pipefail

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=usage.sh
. "$root/jobs/usage.sh"
wrong_usage() { echo "submit.sh: $*; see 'jobs/submit.sh --help'" >&2; exit 2; }
fail() { echo "submit.sh: $*" >&2; exit 1; }

# seconds_of TIME: of 4h, 90m, 1h30m, 2d, 45s or 1:30:00; nothing for any other text.
seconds_of() {
  local clock='^([0-9]{1,6}):([0-5][0-9]):([0-5][0-9])$'
  local units='^(([0-9]{1,6})d)?(([0-9]{1,6})h)?(([0-9]{1,6})m)?(([0-9]{1,6})s)?$'
  if [[ $1 =~ $clock ]]; then
    echo $((10#${BASH_REMATCH[1]} * 3600 + 10#${BASH_REMATCH[2]} * 60 + 10#${BASH_REMATCH[3]}))
  elif [[ $1 =~ $units ]]; then
    echo $((10#0${BASH_REMATCH[2]} * 86400 + 10#0${BASH_REMATCH[4]} * 3600 + 10#0${BASH_REMATCH[6]} * 60 + 10#0${BASH_REMATCH[8]}))
  fi
}

# wrong_time NAME TIME: what is wrong with it, as a sentence. Slurm reads A:B as minutes and seconds, LSF as hours and
# minutes.
wrong_time() {
  local long short clock seconds
  if [[ $2 =~ ^([0-9]{1,6}):([0-9]{1,2})$ ]]; then
    printf -v long '%dh%dm' "$((10#${BASH_REMATCH[1]}))" "$((10#${BASH_REMATCH[2]}))"
    printf -v short '%dm%ds' "$((10#${BASH_REMATCH[1]}))" "$((10#${BASH_REMATCH[2]}))"
    printf -v clock '%d:%02d:00' "$((10#${BASH_REMATCH[1]}))" "$((10#${BASH_REMATCH[2]}))"
    long=${long#0h} short=${short#0m}
    echo "$1 $2 may be hours or minutes; say ${long/h0m/h}, ${short/m0s/m} or $clock"
    return
  fi
  seconds=$(seconds_of "$2")
  [ "${seconds:-0}" -gt 0 ] || echo "$1 must be a time above 0, such as 4h, 90m, 1h30m or 1:30:00, not '$2'"
}

# what_is_wrong NAME VALUE: of an option, or of a line of the site file; nothing if it is right. Numbers have a longest
# length, as arithmetic has.
what_is_wrong() {
  local form must
  case $1 in
    --nodes | --workers | --array | --running | --memory | cores_per_node) form='^0*[1-9][0-9]{0,5}$' must="a number from 1 to 999999" ;;
    --gpus | largest_array) form='^0*[0-9]{1,6}$' must="a number from 0 to 999999" ;;
    --time | time_limit) wrong_time "$@"; return ;;
    --name | --partition) form='^[A-Za-z0-9._-]+$' must="letters, digits, '.', '_' and '-'" ;;
    *) return 0 ;;
  esac
  [[ $2 =~ $form ]] || echo "$1 must be $must, not '$2'"
}

dry_run='' scheduler='' nodes=1 gpus=0 workers='' memory='' array='' running='' take_over='' time='' partition='' advice='' name=wallheat site=$root/configs/site.sh
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  option=$1
  case $option in
    -h | --help) usage 0 --help ;;
    --dry-run) dry_run=yes; shift; continue ;;
    --take-over) take_over=yes; shift; continue ;;
    --advise | --take-advice) advice=$option; shift; continue ;;
  esac
  [ $# -gt 1 ] || wrong_usage "$option: unknown, or its value is missing"
  case $option in
    --scheduler) scheduler=$2 ;;
    --nodes) nodes=$2 ;;
    --gpus) gpus=$2 ;;
    --workers) workers=$2 ;;
    --memory) memory=$2 ;;
    --array) array=$2 ;;
    --running) running=$2 ;;
    --time) time=$2 ;;
    --partition) partition=$2 ;;
    --name) name=$2 ;;
    --site) site=$2 ;;
    *) wrong_usage "there is no option $option" ;;
  esac
  wrong=$(what_is_wrong "$option" "$2")
  [ -z "$wrong" ] || wrong_usage "$wrong"
  shift 2
done
[ "${1:-}" = -- ] || wrong_usage "the options of wallheat run are missing; they come after --"
shift

run_options=()
for option; do
  case $option in
    --resume) continue ;;  # every job says it
    --shard | --shard=*) wrong_usage "the jobs of an array know their shard: --array N in place of --shard" ;;
    --retry-failed) [ -z "$take_over" ] || wrong_usage "--take-over passes over failed plans, so leave out --retry-failed" ;;
    --overwrite) wrong_usage "a job that starts again must not overwrite what it has; remove the old file first" ;;
  esac
  run_options+=("$option")
done

# shellcheck source-path=SCRIPTDIR source=../configs/site.sh
. "$root/configs/site.sh"
[ -r "$site" ] || fail "$site cannot be read"
# shellcheck source-path=SCRIPTDIR source=../configs/site.sh
. "$site"
for line in cores_per_node largest_array time_limit; do
  [ -n "${!line}" ] || continue
  wrong=$(what_is_wrong $line "${!line}")
  [ -z "$wrong" ] || fail "$site: $wrong"
done
[ ${#wallheat[@]} -gt 0 ] || wallheat=("$("$root/jobs/own-wallheat.sh")")
if [ -z "$scheduler" ]; then
  if command -v sbatch > /dev/null; then scheduler=slurm
  elif command -v bsub > /dev/null; then scheduler=lsf
  else wrong_usage "neither sbatch nor bsub is here; say --scheduler slurm or lsf"; fi
fi

advise() {
  local options=() place
  for place in "${partitions[@]}"; do
    [ -n "$partition" ] && [ "${place%%:*}" != "$partition" ] || options+=(--partition "$place")
  done
  [ -z "$partition" ] || [ ${#options[@]} -gt 0 ] || options=(--partition "$partition")
  [ -z "$cores_per_node" ] || options+=(--cores-per-node "$cores_per_node")
  [ -z "$queue_history" ] || options+=(--history "$queue_history")
  (set +eu; eval "$setup" > /dev/null; "${wallheat[@]}" advise "${options[@]}" "$@" -- --resume "${run_options[@]}")
}
if [ "$advice" = --advise ]; then
  advise || exit
  exit 0
elif [ "$advice" = --take-advice ]; then
  best=$(advise --best) || exit
  echo "submit.sh: the advice is $best" >&2
  read -ra words <<< "$best"
  gpus=0 array='' running='' partition=''
  for ((i = 0; i + 1 < ${#words[@]}; i += 2)); do
    wrong=$(what_is_wrong "${words[i]}" "${words[i + 1]}")
    [ -z "$wrong" ] || fail "the advice cannot be taken: $wrong"
    case ${words[i]} in
      --partition) partition=${words[i + 1]} ;;
      --nodes) nodes=${words[i + 1]} ;;
      --gpus) gpus=${words[i + 1]} ;;
      --array) array=${words[i + 1]} ;;
      --running) running=${words[i + 1]} ;;
      --time) time=${words[i + 1]} ;;
      *) fail "this wallheat's advice is not understood: $best" ;;
    esac
  done
fi
# A leading zero would make bash read a number to the base of 8.
for number in nodes gpus workers memory array running cores_per_node largest_array; do
  [ -z "${!number}" ] || printf -v $number %d "$((10#${!number}))"
done
limit_s=$(seconds_of "${time:-$time_limit}")
[ -n "$limit_s" ] || fail "$site: time_limit is missing"
[ -n "$array" ] || [ -z "$running$take_over" ] || wrong_usage "--running and --take-over are for the jobs of an --array"
[ "$array" != 1 ] || array=''  # a single part is the whole
workers=${workers:-$((gpus > 0 ? gpus : 1))}

# The most jobs of an array here; nothing where the scheduler does not tell.
ask_largest_array() {
  local size
  if [ "$scheduler" = slurm ]; then  # its MaxArraySize is one more than the largest index
    size=$(scontrol show config 2> /dev/null | sed -n 's/^MaxArraySize *= *\([0-9]*\).*/\1/p') || true
    echo "${size:+$((size - 1))}"
  else
    bparams -a 2> /dev/null | sed -n 's/.*MAX_JOB_ARRAY_SIZE *= *\([0-9]*\).*/\1/p' || true
  fi
}
# What is more than one array can hold becomes several, as equal as can be, which divide --running.
arrays=1
if [ -n "$array" ]; then
  largest_array=${largest_array:-$(ask_largest_array)}
  largest_array=${largest_array:-$array}
  [ "$largest_array" -gt 0 ] || wrong_usage "this $scheduler takes no arrays: leave out --array, and say more --nodes"
  arrays=$(((array + largest_array - 1) / largest_array))
  [ "${running:-$arrays}" -ge "$arrays" ] ||
    wrong_usage "$array jobs are $arrays arrays here, as one may have $largest_array jobs, and each must be allowed one that runs: say --running $arrays or more, or a smaller --array"
fi
# choose_array I: its jobs, from 0 on, are those from `first` to `last` of all.
choose_array() {
  first=$(($1 * array / arrays + 1))
  last=$((($1 + 1) * array / arrays))
  at_a_time=${running:+$((($1 + 1) * running / arrays - $1 * running / arrays))}
}

# Cores of a node: those that the site file gives to a job, or else all; nothing if nobody knows.
cores=$cores_per_node
if [ -z "$cores" ] && [ "$scheduler" = slurm ]; then  # the largest node of the partition; '*' marks the default one
  cores=$(sinfo --noheader --exact --format='%P %X %Y' ${partition:+--partition="$partition"} 2> /dev/null |
    awk -v named="$partition" '(named != "" || /^[^ ]*\*/) && $2 * $3 > most { most = $2 * $3 } END { print most }') || true
fi
on_cpus=''
if [ "$gpus" = 0 ] && [ -n "$cores" ]; then on_cpus=:$cores/$workers; fi

# The program says what would stop the run: options, plans, an existing file's settings, the disk.
# Where it cannot be started here, the job will tell. The parts of an array are alike, so the first one is looked at,
# and those after it until plans are left to solve.
last_part=${array:-1}
for ((part = 1; part <= last_part; ++part)); do
  status=0
  answer=$(set +eu; eval "$setup" > /dev/null
    "${wallheat[@]}" run --resume "${run_options[@]}" --shard "${array:+$part/}${array:-none}" \
      ${memory:+--memory "$memory"} --check=job"$on_cpus" 2>&1) || status=$?
  if [ "$part" != 1 ] && [[ $answer == *"has none to solve"* ]]; then break; fi  # more parts than plans
  case $status:$answer in
    0:*) [ "$part" != 1 ] || sed -n 's/^warning  */submit.sh: /p' <<< "$answer" >&2 ;;
    [12]:*"wallheat: "*)
      sed -n '/^problem \|^wallheat: /p' <<< "$answer" >&2
      [ "$status$dry_run" = 1yes ] || exit "$status"
      ;;
    *) echo "submit.sh: '${wallheat[*]}' cannot be started here, so nothing is checked" >&2 ;;
  esac
  nothing_left=$(sed -n 's/^done  *//p' <<< "$answer")
  [ -n "$nothing_left" ] || break
done
if [ -n "$nothing_left" ]; then
  [ -z "$array" ] || nothing_left="nothing is left to solve in any of the $array parts; 'wallheat merge' makes one file of them"
  echo "submit.sh: $nothing_left" >&2
  [ -n "$dry_run" ] || exit 0
fi

# --- The two schedulers --------------------------------------------------------------------------

# The run is asked to stop so long before the time limit: two minutes, or a tenth of a short limit.
warning_s=$((limit_s < 1200 ? limit_s / 10 : 120))

printf -v slurm_time '%d:%02d:%02d' $((limit_s / 3600)) $((limit_s / 60 % 60)) $((limit_s % 60))
printf -v lsf_time '%d:%02d' $(((limit_s + 59) / 3600)) $(((limit_s + 59) / 60 % 60))

directives() { printf "#$1 %s\n" "${@:2}"; }

slurm_header() {
  local log=$name-%j.out
  [ -z "$array" ] || log=$name-%A_%a.out
  local options=(--job-name="$name" --output="$log" --nodes="$nodes" --ntasks-per-node=1)
  if [ -n "$cores_per_node" ]; then options+=(--cpus-per-task="$cores_per_node"); else options+=(--exclusive); fi
  [ "$gpus" = 0 ] || options+=("${slurm_gpu_option//\{\}/$gpus}")
  [ -z "$memory" ] || options+=("${slurm_memory_option//\{\}/$memory}")
  [ -z "$array" ] || options+=(--array="1-$((last - first + 1))${at_a_time:+%$at_a_time}")
  options+=(--time="$slurm_time" "--signal=B:USR1@$warning_s" --open-mode=append --requeue --no-kill)
  directives SBATCH "${options[@]}" "${slurm_options[@]}" ${partition:+--partition="$partition"}
}
slurm_merge_header() {
  directives SBATCH --job-name="$name-merge" --output="$name-merge-%j.out" --nodes=1 --ntasks=1 \
    --time="$slurm_time" "${slurm_options[@]}" ${partition:+--partition="$partition"}
}
slurm_submit() { sbatch --parsable "$@" | cut -d ';' -f 1; }
slurm_index() { echo SLURM_ARRAY_TASK_ID; }
slurm_after() { local IFS=:; echo "--dependency=afterany:$*"; }

lsf_header() {
  [ -n "$cores_per_node" ] || fail "$site: LSF has to know cores_per_node"
  local options=("-J $name" "-o $name-%J.out")
  [ -z "$array" ] || options=("-J \"${name}[1-$((last - first + 1))]${at_a_time:+%$at_a_time}\"" "-o $name-%J_%I.out")
  options+=("-n $((nodes * cores_per_node))" "-R \"span[ptile=$cores_per_node]\"")
  [ "$gpus" = 0 ] || options+=("${lsf_gpu_option//\{\}/$gpus}")
  [ -z "$memory" ] || options+=("${lsf_memory_option//\{\}/$memory}")
  options+=("-W $lsf_time" "-wt $(((warning_s + 59) / 60))" "-wa USR1" "-Q \"75\"" "-r")
  directives BSUB "${options[@]}"
  lsf_site_options
}
lsf_merge_header() {
  directives BSUB "-J $name-merge" "-o $name-merge-%J.out" "-n 1" "-W $lsf_time"
  lsf_site_options
}
lsf_site_options() {
  local options=("${lsf_options[@]}")
  if [ -n "$partition" ]; then
    case " ${lsf_options[*]} " in *" -q "*) fail "$site: lsf_options has -q, so leave out --partition" ;; esac
    options+=(-q "$partition")
  fi
  [ ${#options[@]} = 0 ] || echo "#BSUB ${options[*]}"
}
lsf_submit() { bsub "$@" | sed -n 's/^Job <\([0-9]*\)>.*/\1/p'; }
lsf_index() { echo LSB_JOBINDEX; }
lsf_after() {
  local all
  all=$(printf '&&ended(%s)' "$@")
  echo "-w ${all#&&}"
}

case $scheduler in slurm | lsf) ;; *) wrong_usage "--scheduler must be slurm or lsf, not '$scheduler'" ;; esac

# --- The scripts ---------------------------------------------------------------------------------

quoted() { local words; printf -v words '%q ' "$@"; echo "${words% }"; }

# print_beginning HEADER [WORDS]: WORDS follow the options as they stand.
print_beginning() {
  echo '#!/bin/bash'
  "$1"
  printf '%s\n' "$setup"
  printf 'wallheat=(%s)\n' "$(quoted "${wallheat[@]}")"
  printf 'set -- %s%s\n\n' "$(quoted "${run_options[@]}")" "${2:-}"
}

run_script() {
  local shard='' index launch=$root/jobs/launch.sh
  index=$("${scheduler}_index")
  if [ "${first:-1}" = 1 ]; then index=\$$index; else index="\$(($index + $((first - 1))))"; fi
  # Said here, as it holds also for a part of the array that is submitted again.
  [ -z "$array" ] || shard=" --shard \"$index/$array\""
  [ -z "$take_over" ] || launch=$root/jobs/take-over.sh
  print_beginning "${scheduler}_header" "$shard"
  printf 'launch=%q\nworkers=%d\n' "$launch" "$workers"
  sed -n '/^# --- The same in every job/,$p' "$root/jobs/$scheduler.sh"
}

# All parts must be there, however the jobs ended: merge says what is missing.
merge_script() {
  print_beginning "${scheduler}_merge_header"
  printf 'parts=%d\n' "$array"
  cat <<'END'
out=$("${wallheat[@]}" run --resume "$@" --shard none --print-out) || exit
part=$("${wallheat[@]}" run --resume "$@" --shard "1/$parts" --print-out) || exit
"${wallheat[@]}" merge --out "$out" "${part%.part-*}".part-*"-of-$parts${part##*"-of-$parts"}"
END
}

jobs=()
for ((i = 0; i < arrays; ++i)); do
  [ -z "$array" ] || choose_array "$i"
  parts=''
  [ "$arrays" = 1 ] || parts=" for the parts $first to $last"
  if [ -n "$dry_run" ]; then
    [ "$i" = 0 ] || printf '\n# ==== and%s\n' "$parts"
    run_script
    jobs+=("JOB${parts:+$((i + 1))}")
    continue
  fi
  script=$(run_script)
  job=$("${scheduler}_submit" <<< "$script")
  [ -n "$job" ] || fail "$scheduler has not taken the job$parts${jobs[*]:+; it has taken ${jobs[*]}, which you may cancel before you submit the same again}"
  echo "submitted: job $job$parts"
  jobs+=("$job")
done
[ -n "$array" ] || exit 0
script=$(merge_script)
after=$("${scheduler}_after" "${jobs[@]}")
if [ -n "$dry_run" ]; then
  printf '\n# ==== after it, with %s\n%s\n' "$after" "$script"
  exit 0
fi
read -ra after <<< "$after"
merge=$("${scheduler}_submit" "${after[@]}" <<< "$script")
[ -n "$merge" ] || fail "$scheduler has not taken the merge; when job ${jobs[*]} has ended, merge the parts by hand"
echo "submitted: job $merge merges the parts when job ${jobs[*]} has ended"
