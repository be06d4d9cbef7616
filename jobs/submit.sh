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
#   --time TIME       limit of a job: 4h, 90m, 1h30m, 2d, 1:30:00, or 90:00 for 90
#                     minutes (default: as the site file says)
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
wrong_usage() { echo "submit.sh: $*; see 'wallheat submit --help'" >&2; exit 2; }
fail() { echo "submit.sh: $*" >&2; exit 1; }

dry_run='' scheduler='' nodes=1 cores='' gpus=0 workers='' memory='' array='' running='' take_over='' time=''
partition='' name=wallheat site=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
    --dry-run | --take-over) option=${1#--}; printf -v "${option/-/_}" yes ;;
    --scheduler | --nodes | --cores | --gpus | --workers | --memory | --array | --running | --time | --partition | --name | --site)
      [ -n "${2:-}" ] || wrong_usage "the value of $1 is missing"
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    *) wrong_usage "there is no option $1" ;;
  esac
  shift
done
[ "${1:-}" = -- ] || wrong_usage "the options of wallheat run are missing; they come after --"
shift
for option; do
  case $option in
    --shard | --shard=*) wrong_usage "the jobs of an array know their shard: --array N in place of --shard" ;;
    --retry-failed) [ -z "$take_over" ] || wrong_usage "--take-over passes over failed plans, so leave out --retry-failed" ;;
    --overwrite) wrong_usage "a job that starts again must not overwrite what it has; remove the old file first" ;;
  esac
done
# shellcheck source-path=SCRIPTDIR source=../configs/site.sh
. "$root/configs/site.sh"
if [ -n "$site" ]; then
  [ -r "$site" ] || fail "$site cannot be read"
  site=$(realpath -- "$site")
  # shellcheck source-path=SCRIPTDIR source=../configs/site.sh
  . "$site"
fi
[ ${#wallheat[@]} -gt 0 ] || wallheat=("$("$root/jobs/find-wallheat.sh")")
[ -n "$scheduler" ] || ! command -v sbatch > /dev/null || scheduler=slurm
[ -n "$scheduler" ] || ! command -v bsub > /dev/null || scheduler=lsf
case $scheduler in slurm | lsf) ;; *) wrong_usage "neither sbatch nor bsub is here, or --scheduler is wrong: say --scheduler slurm or lsf" ;; esac

# number NAME LEAST: makes an option's value, if it has one, a decimal number (bash reads 08 to the base of 8).
number() {
  [ -n "${!1}" ] || return 0
  [[ ${!1} =~ ^[0-9]{1,6}$ && $((10#${!1})) -ge $2 ]] || wrong_usage "--$1 must be a number from $2 to 999999, not '${!1}'"
  printf -v "$1" %d "$((10#${!1}))"
}
cores=${cores:-$cores_per_node} time=${time:-$time_limit}
for option in nodes cores memory array running workers; do number $option 1; done
number gpus 0
workers=${workers:-$((gpus > 0 ? gpus : 1))}
[ -n "$array" ] || [ -z "$running$take_over" ] || wrong_usage "--running and --take-over are for the jobs of an --array"
[ "$array" != 1 ] || array=''  # a single part is the whole
limit_s=0 n='([0-9]{1,6})'
if [[ $time =~ ^($n:)?$n:([0-5][0-9])$ ]]; then
  limit_s=$((10#0${BASH_REMATCH[2]} * 3600 + 10#${BASH_REMATCH[3]} * 60 + 10#${BASH_REMATCH[4]}))
elif [[ $time =~ ^(${n}d)?(${n}h)?(${n}m)?(${n}s)?$ ]]; then
  limit_s=$((10#0${BASH_REMATCH[2]} * 86400 + 10#0${BASH_REMATCH[4]} * 3600 + 10#0${BASH_REMATCH[6]} * 60 + 10#0${BASH_REMATCH[8]}))
fi
[ $limit_s -gt 0 ] || wrong_usage "--time must be above 0, such as 4h, 90m, 1h30m, 1:30:00 or 90:00 (minutes), not '$time'"

# --- Whether it can run, and what is left --------------------------------------------------------

look() { (set +eu; eval "$setup" > /dev/null; "${wallheat[@]}" run --resume "$@") 2>&1; }
parts='' shard=none
if [ -n "$array" ]; then
  parts=1-$array shard=1/$array
  largest=$({ scontrol show config || bparams -a; } 2> /dev/null |  # Slurm counts from 0
    awk '$1 == "MaxArraySize" { print $3 - 1 } $1 == "MAX_JOB_ARRAY_SIZE" { print $3 }') || true
  [ "$array" -le "${largest:=$array}" ] ||
    wrong_usage "an array has $largest jobs at most here: say --array $largest --take-over, so that each goes on until its time is up"
  if open=$(look "$@" --shard "$shard" --print-open-shards) && [ "$(wc -l <<< "$open")" != "$array" ]; then
    left=$(cut -d / -f 1 <<< "$open" | sort -n | paste -sd ,)
    echo "submit.sh: of the $array parts these are left: ${left:-none}" >&2
    parts=${left:-$parts} shard=${parts%%[,-]*}/$array
  fi
fi
status=0
answer=$(look "$@" --shard "$shard" ${memory:+--memory "$memory"} --check="job${cores:+:$cores/$workers}") || status=$?
nothing_left=$(sed -n 's/^done  *//p' <<< "$answer")
case $status:$answer in
  0:*) sed -n 's/^warning  */submit.sh: /p' <<< "$answer" >&2 ;;
  1:*"has none to solve"*) nothing_left="there are fewer plans than parts" ;;
  [12]:*"wallheat: "*)
    sed -n '/^problem \|^wallheat: /p' <<< "$answer" >&2
    [ "$status$dry_run" = 1yes ] || exit "$status"
    ;;
  *) echo "submit.sh: '${wallheat[*]}' cannot be started here, so nothing is checked" >&2 ;;
esac
if [ -n "$nothing_left" ]; then
  [ -z "$array" ] || nothing_left+="; 'wallheat merge' makes one file of the parts"
  echo "submit.sh: nothing is left to solve: $nothing_left" >&2
  [ -n "$dry_run" ] || exit 0
fi

# --- The job, and the one that merges the parts of an array --------------------------------------

quoted() { local words; printf -v words '%q ' "$@"; echo "${words% }"; }
script=$root/jobs/$scheduler.sh
warning_s=$((limit_s < 1200 ? limit_s / 10 : 120))  # the run is asked to stop so long before the time limit
words=("$script" "$root/jobs" ${site:+"site=$site"} "workers=$workers" ${array:+"array=$array"} ${take_over:+take_over=yes} -- "$@")
merge_words=("$script" "$root/jobs" ${site:+"site=$site"} "merge=$array" -- "$@")
if [ "$scheduler" = slurm ]; then
  printf -v limit %d:%02d $((limit_s / 60)) $((limit_s % 60))
  submit=(sbatch --parsable --time="$limit" "${slurm_options[@]}" ${partition:+--partition="$partition"})
  options=(--job-name="$name" --nodes="$nodes" "--signal=B:USR1@$warning_s")
  if [ -n "$array" ]; then options+=(--output="$name-%A_%a.out" --array="$parts${running:+%$running}")
  else options+=(--output="$name-%j.out"); fi
  if [ -n "$cores" ]; then options+=(--cpus-per-task="$cores"); else options+=(--exclusive); fi
  [ "$gpus" = 0 ] || options+=("${slurm_gpu_option[@]//\{\}/$gpus}")
  [ -z "$memory" ] || options+=("${slurm_memory_option[@]//\{\}/$memory}")
  merge_options=(--job-name="$name-merge" --output="$name-merge-%j.out" --nodes=1)
  after=--dependency=afterany: end=''
else
  [ -n "$cores" ] || fail "LSF has to know the cores of a node: say --cores, or cores_per_node in the site file"
  printf -v limit %d:%02d $(((limit_s + 59) / 3600)) $(((limit_s + 59) / 60 % 60))
  submit=(bsub -W "$limit" "${lsf_options[@]}" ${partition:+-q "$partition"})
  options=(-J "$name${array:+[$parts]}${running:+%$running}" -o "$name-%J${array:+_%I}.out" -n $((nodes * cores))
    -R "span[ptile=$cores]" -wt $(((warning_s + 59) / 60)) -wa USR1 -Q 75 -r)
  [ "$gpus" = 0 ] || options+=("${lsf_gpu_option[@]//\{\}/$gpus}")
  [ -z "$memory" ] || options+=("${lsf_memory_option[@]//\{\}/$memory}")
  merge_options=(-J "$name-merge" -o "$name-merge-%J.out" -n 1 -w)
  after='ended(' end=')' words=("$(quoted "${words[@]}")") merge_words=("$(quoted "${merge_words[@]}")")  # bsub takes a line of a shell
fi
# take COMMAND...: submits it, and prints the job's number.
take() { if [ -n "$dry_run" ]; then quoted "$@" >&3; echo JOB; else "$@" | grep -o '[0-9]\+' | head -n 1; fi; }
exec 3>&1
job=$(take "${submit[@]}" "${options[@]}" "${words[@]}") || fail "$scheduler has not taken the job"
[ -n "$dry_run" ] || echo "submitted: job $job"
if [ -n "$array" ]; then
  merge=$(take "${submit[@]}" "${merge_options[@]}" "$after$job$end" "${merge_words[@]}") ||
    fail "$scheduler has not taken the merge: when job $job has ended, merge the parts by hand"
  [ -n "$dry_run" ] || echo "submitted: job $merge merges the parts when job $job has ended"
fi
[ -z "$dry_run" ] || cat "$script" "$root/jobs/job.sh"
