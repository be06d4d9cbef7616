#!/usr/bin/env bash
# Submits a run to Slurm or LSF, if 'wallheat run --check' finds nothing against
# it and plans are left to solve.
#   wallheat submit [OPTIONS] -- --data PLANS --out FILE [OPTIONS OF wallheat run]
#   wallheat submit --nodes 4 --dry-run -- --data plans --out results.h5
#   wallheat submit --array 200 --cores 2 --time 20m -- -d plans -o results.h5
#
#   --dry-run         print the command and the script, even if it could not run
#   --scheduler NAME  slurm or lsf (default: whichever is here)
#   --nodes N         nodes of each job (default: 1)
#   --cores N         cores of each node, the others are left to other jobs
#                     (default: as the site file says, or whole nodes)
#   --gpus N          GPUs of each node (default: 0)
#   --workers N       workers on each node (default: one, or one for each GPU)
#   --memory GB       memory of each node (default: what the site gives)
#   --array N         N jobs with a share of the plans each, and one that merges
#                     their results; submit it again for the parts that are left
#   --running K       at most K of them at a time (default: all)
#   --take-over       a job that is done goes on with parts that no job is at;
#                     plans that failed are not tried again
#   --time TIME       limit of a job: 4h, 90m, 1h30m, 2d, 1:30:00, 90:00 for 90
#                     minutes, or 1-12:00:00 for a day and 12 hours (default: as
#                     the site file says)
#   --partition NAME  partition or LSF queue (default: as the site file says)
#   --name NAME       of the job (default: wallheat)
#   --site FILE       what is special about your cluster; what it does not say is
#                     taken from configs/site.sh
#
# A job that its time limit stops goes back into the queue and goes on. Submit the
# same again after any other end. 'wallheat advise --best' prints the options with
# which the plans are solved soonest.
set -euo pipefail
root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=usage.sh
. "$root/jobs/usage.sh"
usage 0 "$@"
die_with_usage() { echo "submit.sh: $*; see 'wallheat submit --help'" >&2; exit 2; }
die() { echo "submit.sh: $*" >&2; exit 1; }

dry_run='' scheduler='' nodes=1 cores='' gpus=0 workers='' memory='' array='' running='' take_over='' time=''
partition='' name=wallheat site=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
    --dry-run | --take-over) option=${1#--}; printf -v "${option/-/_}" yes ;;
    --scheduler | --nodes | --cores | --gpus | --workers | --memory | --array | --running | --time | --partition | --name | --site)
      [ -n "${2:-}" ] || die_with_usage "the value of $1 is missing"
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    *) die_with_usage "there is no option $1" ;;
  esac
  shift
done
[ "${1:-}" = -- ] || die_with_usage "the options of wallheat run are missing; they come after --"
shift
for option; do
  case $option in
    --shard | --shard=*) die_with_usage "the jobs of an array know their shard: --array N in place of --shard" ;;
    --retry-failed) [ -z "$take_over" ] || die_with_usage "--take-over passes over failed plans, so leave out --retry-failed" ;;
    --overwrite) die_with_usage "a job that starts again must not overwrite what it has; remove the old file first" ;;
  esac
done
# shellcheck source-path=SCRIPTDIR source=../configs/site.sh
. "$root/configs/site.sh"
if [ -n "$site" ]; then
  [ -r "$site" ] || die "$site cannot be read"
  site=$(realpath -- "$site")
  # shellcheck source-path=SCRIPTDIR source=../configs/site.sh
  . "$site"
fi
[ ${#wallheat[@]} -gt 0 ] || wallheat=("$("$root/jobs/find-wallheat.sh")")
[ -n "$scheduler" ] || ! command -v sbatch > /dev/null || scheduler=slurm
[ -n "$scheduler" ] || ! command -v bsub > /dev/null || scheduler=lsf
case $scheduler in
  slurm | lsf) ;;
  *) die_with_usage "neither sbatch nor bsub is here, or --scheduler is wrong: say --scheduler slurm or lsf" ;;
esac

# require_number NAME MIN: requires that the option's value, if it is not empty, is an integer of at least MIN. Rewrites it
# without leading zeros, because bash parses 08 as an octal number.
require_number() {
  [ -n "${!1}" ] || return 0
  [[ ${!1} =~ ^[0-9]{1,6}$ && $((10#${!1})) -ge $2 ]] || die_with_usage "--$1 must be a number from $2 to 999999, not '${!1}'"
  printf -v "$1" %d "$((10#${!1}))"
}
cores=${cores:-$cores_per_node} time=${time:-$time_limit}
for option in nodes cores memory array running workers; do require_number $option 1; done
require_number gpus 0
workers=${workers:-$((gpus > 0 ? gpus : 1))}
[ -n "$array" ] || [ -z "$running$take_over" ] || die_with_usage "--running and --take-over are for the jobs of an --array"
[ "$array" != 1 ] || array=''  # one shard is the whole campaign
# As parse_duration() in src/run/batch_job.cpp, but without a plain number, which is in minutes for Slurm and in seconds for
# wallheat. This script cannot call the program, which may not start on this host.
limit_s=0 n='([0-9]{1,6})'
if [[ $time =~ ^($n:)?$n:([0-5][0-9])$ ]]; then
  limit_s=$((10#0${BASH_REMATCH[2]} * 3600 + 10#${BASH_REMATCH[3]} * 60 + 10#${BASH_REMATCH[4]}))
elif [[ $time =~ ^([0-9]{1,5})-([01]?[0-9]|2[0-3])(:([0-5]?[0-9])(:([0-5]?[0-9]))?)?$ ]]; then
  limit_s=$((10#${BASH_REMATCH[1]} * 86400 + 10#${BASH_REMATCH[2]} * 3600 + 10#0${BASH_REMATCH[4]} * 60 + 10#0${BASH_REMATCH[6]}))
elif [[ $time =~ ^(${n}d)?(${n}h)?(${n}m)?(${n}s)?$ ]]; then
  limit_s=$((10#0${BASH_REMATCH[2]} * 86400 + 10#0${BASH_REMATCH[4]} * 3600 + 10#0${BASH_REMATCH[6]} * 60 + 10#0${BASH_REMATCH[8]}))
fi
[ $limit_s -gt 0 ] || die_with_usage "--time must be above 0, such as 4h, 90m, 1h30m, 1:30:00, 90:00 (minutes) or 1-12:00:00 (days-hours), not '$time'"

# --- The check of the run, and the open shards ---------------------------------------------------

# query_run OPTION...: prints what 'wallheat run' prints for an option that starts no run; returns its exit status.
query_run() { (set +eu; eval "$setup" > /dev/null; "${wallheat[@]}" run --resume "$@") 2>&1; }
task_indices='' shard=none
if [ -n "$array" ]; then
  task_indices=1-$array shard=1/$array
  max_array_jobs=$({ scontrol show config || bparams -a; } 2> /dev/null |  # Slurm counts from 0
    awk '$1 == "MaxArraySize" { print $3 - 1 } $1 == "MAX_JOB_ARRAY_SIZE" { print $3 }') || true
  [ "$array" -le "${max_array_jobs:=$array}" ] ||
    die_with_usage "an array has $max_array_jobs jobs at most here: say --array $max_array_jobs --take-over, so that each goes on until its time is up"
  if open_shards=$(query_run "$@" --shard "$shard" --print-open-shards) &&
    [ "$(wc -l <<< "$open_shards")" != "$array" ]; then
    open_indices=$(cut -d / -f 1 <<< "$open_shards" | sort -n | paste -sd ,)
    echo "submit.sh: of the $array parts these are left: ${open_indices:-none}" >&2
    task_indices=${open_indices:-$task_indices} shard=${task_indices%%[,-]*}/$array
  fi
fi
status=0
check=$(query_run "$@" --shard "$shard" ${memory:+--memory "$memory"} --check="job${cores:+:$cores/$workers}" --json) || status=$?
# check_value KEY: prints a value of the check. check_strings KEY: prints its list of strings, one per line.
check_value() { sed -n "s/^ \"$1\": \"\{0,1\}\(.*[^,\"]\)\"\{0,1\},\{0,1\}$/\1/p" <<< "$check" | unescape; }
check_strings() { sed -n "/^ \"$1\": \[$/,/^ \]/s/^  \"\(.*\)\",\{0,1\}$/submit.sh: \1/p" <<< "$check" | unescape; }
unescape() { sed 's/\\\(["\\]\)/\1/g'; }
done_reason=''
if [ "$(check_value plans)" = 0 ]; then
  done_reason="there are fewer plans than parts"
elif [ "$(check_value ready)" = true ]; then
  check_strings warnings >&2
  [ "$(check_value "done")" = false ] || done_reason=$(check_value done_reason)
elif [ "$(check_value ready)" = false ]; then
  check_strings problems >&2
  [ -n "$dry_run" ] || exit 1
elif [ "$status" = 2 ]; then
  printf '%s\n' "$check" >&2
  exit 2
else
  echo "submit.sh: '${wallheat[*]}' cannot be started here, so nothing is checked" >&2
fi
if [ -n "$done_reason" ]; then
  [ -z "$array" ] || done_reason+="; 'wallheat merge' makes one file of the parts"
  echo "submit.sh: nothing is left to solve: $done_reason" >&2
  [ -n "$dry_run" ] || exit 0
fi

# --- The job, and the one that merges the parts of an array --------------------------------------

# Prints its arguments as one line that a shell parses back into them.
quote_command() { local line; printf -v line '%q ' "$@"; echo "${line% }"; }
script=$root/jobs/$scheduler.sh
signal_lead_s=$((limit_s < 1200 ? limit_s / 10 : 120))  # time from the stop signal to the time limit
job_command=("$script" "$root/jobs" ${site:+"site=$site"} "workers=$workers" ${array:+"array=$array"}
  ${take_over:+take_over=yes} -- "$@")
merge_command=("$script" "$root/jobs" ${site:+"site=$site"} "merge=$array" -- "$@")
if [ "$scheduler" = slurm ]; then
  printf -v limit %d:%02d $((limit_s / 60)) $((limit_s % 60))
  submit=(sbatch --parsable --time="$limit" "${slurm_options[@]}" ${partition:+--partition="$partition"})
  options=(--job-name="$name" --nodes="$nodes" "--signal=B:USR1@$signal_lead_s")
  if [ -n "$array" ]; then options+=(--output="$name-%A_%a.out" --array="$task_indices${running:+%$running}")
  else options+=(--output="$name-%j.out"); fi
  if [ -n "$cores" ]; then options+=(--cpus-per-task="$cores"); else options+=(--exclusive); fi
  [ "$gpus" = 0 ] || options+=("${slurm_gpu_option[@]//\{\}/$gpus}")
  [ -z "$memory" ] || options+=("${slurm_memory_option[@]//\{\}/$memory}")
  merge_options=(--job-name="$name-merge" --output="$name-merge-%j.out" --nodes=1)
  dependency_prefix=--dependency=afterany: dependency_suffix=''
else
  [ -n "$cores" ] || die "LSF has to know the cores of a node: say --cores, or cores_per_node in the site file"
  printf -v limit %d:%02d $(((limit_s + 59) / 3600)) $(((limit_s + 59) / 60 % 60))
  submit=(bsub -W "$limit" "${lsf_options[@]}" ${partition:+-q "$partition"})
  options=(-J "$name${array:+[$task_indices]}${running:+%$running}" -o "$name-%J${array:+_%I}.out" -n $((nodes * cores))
    -R "span[ptile=$cores]" -wt $(((signal_lead_s + 59) / 60)) -wa USR1 -Q 75 -r)
  [ "$gpus" = 0 ] || options+=("${lsf_gpu_option[@]//\{\}/$gpus}")
  [ -z "$memory" ] || options+=("${lsf_memory_option[@]//\{\}/$memory}")
  merge_options=(-J "$name-merge" -o "$name-merge-%J.out" -n 1 -w)
  dependency_prefix='ended(' dependency_suffix=')'
  # bsub expects the command as one line for a shell.
  job_command=("$(quote_command "${job_command[@]}")") merge_command=("$(quote_command "${merge_command[@]}")")
fi
# submit_job COMMAND...: runs a submission command and prints the job's ID. In a dry run prints the command to fd 3 instead.
submit_job() { if [ -n "$dry_run" ]; then quote_command "$@" >&3; echo JOB; else "$@" | grep -o '[0-9]\+' | head -n 1; fi; }
exec 3>&1
job_id=$(submit_job "${submit[@]}" "${options[@]}" "${job_command[@]}") || die "$scheduler has not taken the job"
[ -n "$dry_run" ] || echo "submitted: job $job_id"
if [ -n "$array" ]; then
  dependency=$dependency_prefix$job_id$dependency_suffix
  merge_id=$(submit_job "${submit[@]}" "${merge_options[@]}" "$dependency" "${merge_command[@]}") ||
    die "$scheduler has not taken the merge: when job $job_id has ended, merge the parts by hand"
  [ -n "$dry_run" ] || echo "submitted: job $merge_id merges the parts when job $job_id has ended"
fi
[ -z "$dry_run" ] || cat "$script" "$root/jobs/job.sh"
