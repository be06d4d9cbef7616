#!/usr/bin/env bash
# Submits a run to Slurm or LSF, if 'wallheat run --check' finds no problem and
# plans are left to solve.
#   wallheat submit [OPTIONS] -- --data PLANS --out FILE [OPTIONS OF wallheat run]
#   wallheat submit --nodes 4 --dry-run -- --data plans --out results.h5
#   wallheat submit --array 200 --cores 2 --time 20m -- -d plans -o results.h5
#
# Options:
#   --dry-run         only print the submission command and the job script, even
#                     if the run could not start
#   --scheduler NAME  slurm or lsf (default: the one that is installed)
#   --nodes N         number of nodes per job (default: 1)
#   --cores N         cores per node; other jobs may use the remaining cores
#                     (default: cores_per_node of the site files, or whole nodes)
#   --gpus N          GPUs per node, as --gpus-per-node of sbatch (default: 0)
#   --workers N       workers per node (default: one, or one for each GPU)
#   --memory GB       memory per node in units of 1024 MB (default: that of the
#                     scheduler)
#   --array N         submit an array of N jobs (sbatch --array=1-N), each of
#                     which solves one shard of the plans, and a job that merges
#                     their results; submit the array again to solve unfinished
#                     shards
#   --max-running K   run at most K jobs of the array at a time (default: all)
#   --take-over       let a job of the array that has solved its shard continue
#                     with shards that no other job solves; failed plans are not
#                     retried
#   --time TIME       time limit of a job: 4h, 90m, 1h30m, 2d, 1:30:00, 90:00 for
#                     90 minutes, or 1-12:00:00 for a day and 12 hours; a number
#                     requires a unit, and unlike bsub, 1:30 is 90 seconds
#                     (default: time_limit of the site files)
#   --partition NAME  partition or LSF queue (default: that of the site files, or
#                     of the scheduler)
#   --account NAME    account that is charged, or LSF project (default: that of
#                     the site files, or of the scheduler)
#   --qos NAME        quality of service (Slurm only)
#   --mail-user ADDRESS
#                     send mail to this address when the job ends or fails; with
#                     LSF and --array, when the merge job ends
#   --scheduler-option WORD
#                     pass a word to sbatch or bsub, for all jobs; repeat for more
#                     words: --scheduler-option --reservation=lab (Slurm), or
#                     --scheduler-option -G --scheduler-option lab (LSF)
#   --name NAME       name of the job and of its log (default: wallheat)
#   --site FILE       site file with the properties of your cluster
#
# The site files are, with increasing precedence: configs/site.sh, which explains
# the variables; /etc/wallheat/site.sh; the file in the environment variable
# WALLHEAT_SITE; the file of --site. Jobs read the same files.
# Options that all your jobs need belong in slurm_options or lsf_options of a
# site file.
#
# If wallheat was built without MPI, each job runs on one node with one worker,
# which uses all its cores; --nodes and --workers must be 1.
#
# A Slurm job gets a signal two minutes before its time limit, stops the run, and
# requeues itself with 'scontrol requeue' if plans are left to solve (exit status
# 75 of the run). It then resumes the run. After any other end, submit the same
# command again. 'wallheat advise --best' prints the options with which the plans
# are solved soonest; if it fails, this command submits no job:
#   options=$(wallheat advise --best -- --data plans --out results.h5) &&
#     wallheat submit $options -- --data plans --out results.h5
#
# Exit status: 0: submitted, or no plan is left to solve; 1: the job cannot be
# submitted; 2: wrong usage.
set -euo pipefail
root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=usage.sh
. "$root/jobs/usage.sh"
usage 0 "$@"
die_with_usage() { echo "submit.sh: $*; see 'wallheat submit --help'" >&2; exit 2; }
die() { echo "submit.sh: $*" >&2; exit 1; }
has_warned=''
warn() { echo "submit.sh: warning: $*" >&2; has_warned=yes; }

dry_run='' scheduler='' nodes=1 cores='' gpus=0 workers='' memory='' array='' max_running='' take_over='' time=''
partition='' name=wallheat site='' account='' qos='' mail_user='' scheduler_options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
    --dry-run | --take-over) option=${1#--}; printf -v "${option/-/_}" yes ;;
    --scheduler | --nodes | --cores | --gpus | --workers | --memory | --array | --max-running | --time | --partition | --name | --site | \
      --account | --qos | --mail-user | --scheduler-option)
      [ -n "${2:-}" ] || die_with_usage "$1 requires a value"
      option=${1#--}
      if [ "$option" = scheduler-option ]; then scheduler_options+=("$2"); else printf -v "${option/-/_}" %s "$2"; fi
      shift
      ;;
    *) die_with_usage "unknown option '$1'" ;;
  esac
  shift
done
[ "${1:-}" = -- ] || die_with_usage "missing -- and the options of wallheat run"
shift
for option; do
  case $option in
    --shard | --shard=*) die_with_usage "--shard is not allowed, because each job of an array finds its shard; use --array N" ;;
    --retry-failed) [ -z "$take_over" ] || die_with_usage "--take-over cannot be combined with --retry-failed, because it skips failed plans" ;;
    --overwrite) die_with_usage "--overwrite is not allowed, because a requeued job would discard its own results; remove the old file first" ;;
  esac
done
# The log of a job is named after the job, and the schedulers replace patterns such as %j in file names.
name_pattern='^[^][:cntrl:]/%\\*?{},"'\''`$[-][^][:cntrl:]/%\\*?{},"'\''`$[]*$'
[[ $name =~ $name_pattern ]] ||
  die_with_usage "--name ${name@Q}: the log has this name, so it must not begin with - or contain any of / % \\ * ? [ ] { } , \$ \` and quotes"
# If a job calls this script, the new job must not inherit the shard, the node or the rank of the calling job.
unset "${!SLURM_ARRAY@}" "${!SLURM_JOB@}" "${!SLURM_STEP@}" "${!SLURM_TASK@}" "${!SLURM_NTASKS@}" "${!SLURM_NODE@}" \
  "${!SLURM_CPU@}" "${!SLURM_GPU@}" "${!SLURM_MEM_@}" "${!SLURM_TRES@}" "${!SLURM_SUBMIT@}" "${!SLURM_HET@}" \
  "${!SLURM_LAUNCH@}" "${!SLURM_SRUN@}" "${!SLURM_TOPOLOGY@}" "${!SLURMD_@}" \
  SLURM_{NNODES,NPROCS,PROCID,LOCALID,GTIDS,RESTART_COUNT,EXPORT_ENV,PRIO_PROCESS,THREADS_PER_CORE,DISTRIBUTION} \
  "${!LSB_JOBI@}" "${!LSB_DJOB@}" "${!LSB_AFFINITY@}" \
  LSB_{JOBNAME,JOBFILENAME,BATCH_JID,HOSTS,MCPU_HOSTS,MAX_NUM_PROCESSORS,RESTART,EFFECTIVE_RSRCREQ,ERRORFILE,OUTPUTFILE} \
  "${!OMPI_COMM_WORLD@}" "${!PMIX_SERVER@}" PMIX_{RANK,NAMESPACE} PMI_{FD,RANK,SIZE}
# shellcheck source-path=SCRIPTDIR source=site-files.sh
. "$root/jobs/site-files.sh"
find_site_files "$root" "$site"
site_arrays='(slurm|lsf)_(options|gpu_option|memory_option|merge_options)|wallheat' site_variables=''
for site_file in "${site_files[@]}"; do
  require_site_file "$site_file"
  ! site_line=$(grep -nE "^[[:space:]]*($site_arrays)\\+?=([^(]|$)" "$site_file") ||
    die "site file $site_file: line $site_line: the value must be an array, such as (--option1 '--option2=a word')"
  trap 'echo "submit.sh: site file $site_file: a command of it failed; see above" >&2; exit 1' EXIT
  # shellcheck source-path=SCRIPTDIR source=../configs/site.sh
  . "$site_file"
  trap - EXIT
  # The first file sets all variables that exist.
  site_variables=${site_variables:-$(compgen -v)}
  while read -r variable; do
    warn "site file $site_file: unknown variable $variable is ignored; $root/configs/site.sh explains the variables"
  done < <(compgen -v | grep -E '^(slurm|lsf|merge)_' | grep -vxF "$site_variables")
done
[ ${#wallheat[@]} -gt 0 ] || wallheat=("$("$root/jobs/find-wallheat.sh")")
[ -n "$scheduler" ] || ! command -v sbatch > /dev/null || scheduler=slurm
[ -n "$scheduler" ] || ! command -v bsub > /dev/null || scheduler=lsf
case $scheduler in
  slurm | lsf) ;;
  *) die_with_usage "no sbatch or bsub found, or invalid --scheduler; use --scheduler slurm or --scheduler lsf" ;;
esac

# require_number NAME MIN [SITE]: requires that the variable, if it is not empty, is an integer of at least MIN. Rewrites it
# without leading zeros, because bash parses 08 as an octal number. SITE: the variable of the site files that sets it, too.
require_number() {
  [ -n "${!1}" ] || return 0
  [[ ${!1} =~ ^[0-9]{1,6}$ && $((10#${!1})) -ge $2 ]] ||
    die_with_usage "$(describe_variable "$1" "${3:-}") must be a number from $2 to 999999, not '${!1}'"
  printf -v "$1" %d "$((10#${!1}))"
}
# require_time NAME [SITE]: requires that the variable is a duration; sets seconds to it. Warns if it is so short that hours
# and minutes may have been meant, as bsub reads 1:30. The forms are those of parse_duration() in src/core/duration.cpp, but
# for a plain number, which is in minutes for Slurm and in seconds for wallheat. This script cannot call the program, which
# may not start on this host.
require_time() {
  local time=${!1} n='([0-9]{1,6})'
  seconds=0
  if [[ $time =~ ^($n:)?$n:([0-5][0-9])$ ]]; then
    seconds=$((10#0${BASH_REMATCH[2]} * 3600 + 10#${BASH_REMATCH[3]} * 60 + 10#${BASH_REMATCH[4]}))
  elif [[ $time =~ ^([0-9]{1,5})-([01]?[0-9]|2[0-3])(:([0-5]?[0-9])(:([0-5]?[0-9]))?)?$ ]]; then
    seconds=$((10#${BASH_REMATCH[1]} * 86400 + 10#${BASH_REMATCH[2]} * 3600 + 10#0${BASH_REMATCH[4]} * 60 + 10#0${BASH_REMATCH[6]}))
  elif [[ $time =~ ^(${n}d)?(${n}h)?(${n}m)?(${n}s)?$ ]]; then
    seconds=$((10#0${BASH_REMATCH[2]} * 86400 + 10#0${BASH_REMATCH[4]} * 3600 + 10#0${BASH_REMATCH[6]} * 60 + 10#0${BASH_REMATCH[8]}))
  fi
  ! [[ $time =~ ^$n$ ]] || die_with_usage "$(describe_variable "$1" "${2:-}"): '$time' has no unit; write ${time}h or ${time}m"
  [ $seconds -gt 0 ] || die_with_usage \
    "$(describe_variable "$1" "${2:-}") must be above 0, such as 4h, 90m, 1h30m, 1:30:00, 90:00 (minutes) or 1-12:00:00 (days-hours), not '$time'"
  [ $seconds -ge 300 ] || warn "$(describe_variable "$1" "${2:-}"): '$time' is a time limit of only $((seconds / 60)) min" \
    "$((seconds % 60)) s; write 1h30m for hours and minutes"
}
describe_variable() { if [ "$1" = "${2:-}" ]; then echo "$1 of the site files"; else echo "--${1/_/-}${2:+ ($2 of the site files)}"; fi; }
cores=${cores:-$cores_per_node} time=${time:-$time_limit}
for option in nodes memory array max_running workers; do require_number $option 1; done
require_number cores 1 cores_per_node
require_number gpus 0
require_number merge_memory 1 merge_memory
workers=${workers:-$((gpus > 0 ? gpus : 1))}
[ -n "$array" ] || [ -z "$max_running$take_over" ] || die_with_usage "--max-running and --take-over require --array"
[ "$array" != 1 ] || array=''  # one shard is the whole campaign
require_time time time_limit
limit_s=$seconds merge_limit_s=$((seconds < 3600 ? seconds : 3600))
[ -z "$merge_time_limit" ] || { require_time merge_time_limit merge_time_limit; merge_limit_s=$seconds; }
case $lsf_memory_per in
  slot | host) ;;
  *) die_with_usage "lsf_memory_per of the site files must be slot or host, not '$lsf_memory_per'" ;;
esac

# --- The check of the run, and the unfinished shards ---------------------------------------------------

# query_run OPTION...: prints the output of 'wallheat run' with an option that starts no run; returns its exit status.
query_run() { (set +eu; eval "$setup" > /dev/null 2>&1; "${wallheat[@]}" run --resume "$@") 2>&1; }
setup_status=0
setup_errors=$( (set +eu; eval "$setup" > /dev/null) 2>&1) || setup_status=$?
[ "$setup_status:$setup_errors" = 0: ] ||
  warn "setup of the site files: exit status $setup_status on this host${setup_errors:+, with the messages: $setup_errors}"
# ask_scheduler COMMAND...: prints the output of a command of the scheduler; returns 1 if it fails or takes more than 10 s.
ask_scheduler() {
  timeout 10 "$@" 2> /dev/null || { [ $? != 124 ] || warn "$1: no response within 10 s"; return 1; }
}
task_indices='' shard=none
if [ -n "$array" ]; then
  task_indices=1-$array shard=1/$array
  max_array_jobs=$({ ask_scheduler scontrol show config || ask_scheduler bparams -a; } |  # Slurm counts from 0
    awk '$1 == "MaxArraySize" { print $3 - 1 } $1 == "MAX_JOB_ARRAY_SIZE" { print $3 }') || true
  [ "$array" -le "${max_array_jobs:=$array}" ] ||
    die_with_usage "--array $array: the scheduler accepts at most $max_array_jobs jobs; use --array $max_array_jobs --take-over, so that each job continues until its time limit"
  if open_shards=$(query_run "$@" --shard "$shard" --print-open-shards) &&
    [ "$(wc -l <<< "$open_shards")" != "$array" ]; then
    open_indices=$(cut -d / -f 1 <<< "$open_shards" | sort -n | paste -sd ,)
    echo "submit.sh: unfinished shards of $array: ${open_indices:-none}" >&2
    task_indices=${open_indices:-$task_indices} shard=${task_indices%%[,-]*}/$array
  fi
fi
status=0
check=$(query_run "$@" --shard "$shard" ${memory:+--memory "$memory"} --check="job:nodes=$nodes,workers=$workers,gpus=$gpus${cores:+,cores=$cores}" --json) || status=$?
# check_value KEY: prints a value of the check. check_strings KEY: prints its list of strings, one per line.
check_value() { sed -n "s/^ \"$1\": \"\{0,1\}\(.*[^,\"]\)\"\{0,1\},\{0,1\}$/\1/p" <<< "$check" | unescape; }
check_strings() { sed -n "/^ \"$1\": \[$/,/^ \]/s/^  \"\(.*\)\",\{0,1\}$/\1/p" <<< "$check" | unescape; }
unescape() { sed 's/\\\(["\\]\)/\1/g'; }
done_reason=''
if [ "$(check_value plans)" = 0 ]; then
  done_reason="there are fewer plans than shards"
elif [ "$(check_value ready)" = true ]; then
  while IFS= read -r message; do warn "$message"; done < <(check_strings warnings)
  [ "$(check_value "done")" = false ] || done_reason=$(check_value done_reason)
elif [ "$(check_value ready)" = false ]; then
  check_strings problems | sed 's/^/submit.sh: /' >&2
  [ -n "$dry_run" ] || exit 1
  echo "submit.sh: dry run: without --dry-run, this job would not be submitted, because of the problems above" >&2
elif [ "$status" = 2 ]; then
  printf '%s\n' "$check" >&2
  exit 2
else
  echo "submit.sh: '${wallheat[*]}' cannot be started on this host; skipping the check" >&2
fi
if [ -n "$done_reason" ]; then
  [ -z "$array" ] || done_reason+="; use 'wallheat merge' to combine the shard files"
  echo "submit.sh: no plan is left to solve: $done_reason" >&2
  [ -n "$dry_run" ] || exit 0
  echo "submit.sh: dry run: without --dry-run, no job would be submitted" >&2
fi

[ -z "$has_warned" ] || [ -n "$dry_run" ] || echo "submit.sh: submitting the job despite the warnings" >&2

# --- The job, and the job that merges the shard files of an array --------------------------------

# Prints its arguments as one line that a shell parses back into them.
quote_command() { local line; printf -v line '%q ' "$@"; echo "${line% }"; }
# take_option ARRAY SHORT [LONG]: removes an option of the scheduler from the array, in all its forms; sets taken to its value,
# or to ''. Only options of Slurm have a long form, and a short form such as -plong.
take_option() {
  local -n options_of_site=$1
  local kept=() i word short=$2 long=${3:-}
  taken=''
  for ((i = 0; i < ${#options_of_site[@]}; ++i)); do
    word=${options_of_site[i]}
    if [ "$word" = "$short" ] || [ "$word" = "${long:-$short}" ]; then taken=${options_of_site[++i]:-}
    elif [ -n "$long" ] && [[ $word == "$long"=* ]]; then taken=${word#*=}
    elif [ -n "$long" ] && [[ $word == "$short"* ]]; then taken=${word#"$short"}
    else kept+=("$word"); fi
  done
  options_of_site=("${kept[@]}")
}
# take_queue ARRAY: does this for the partition or queue; sets queue.
take_queue() {
  if [ "$scheduler" = slurm ]; then take_option "$1" -p --partition; else take_option "$1" -q; fi
  queue=$taken
}
# format_memory ARRAY GB SLOTS: sets memory_options to the options in the array that request GB for SLOTS slots of a node.
format_memory() {
  local -n template=$1
  local mb=$(($2 * 1024))
  [ "$scheduler:$lsf_memory_per" != lsf:slot ] || mb=$(((mb + $3 - 1) / $3))
  memory_options=("${template[@]//\{MB\}/$mb}")
  memory_options=("${memory_options[@]//\{\}/$(((mb + 1023) / 1024))}")
}
# format_limit SECONDS: prints a time limit for the scheduler.
format_limit() {
  if [ "$scheduler" = slurm ]; then printf %d:%02d $(($1 / 60)) $(($1 % 60))
  else printf %d:%02d $((($1 + 59) / 3600)) $((($1 + 59) / 60 % 60)); fi
}

script=$root/jobs/$scheduler.sh
signal_lead_s=$((limit_s < 1200 ? limit_s / 10 : 120))  # time from the stop signal to the time limit
job_command=("$script" "$root/jobs" "${site_files[@]/#/site=}" "workers=$workers" ${array:+"array=$array"}
  ${take_over:+take_over=yes} -- "$@")
[ -n "$array" ] || job_command+=(--shard none)  # as in the check above, even if the job has variables of an array
merge_command=("$script" "$root/jobs" "${site_files[@]/#/site=}" "merge=$array" -- "$@")
if [ "$scheduler" = slurm ]; then
  site_options=("${slurm_options[@]}") merge_options=("${slurm_merge_options[@]}")
  gpu_options=("${slurm_gpu_option[@]//\{\}/$gpus}") memory_template=slurm_memory_option
else
  [ -n "$cores" ] || die "LSF requires the cores of a node: use --cores, or set cores_per_node in a site file"
  site_options=("${lsf_options[@]}") merge_options=("${lsf_merge_options[@]}")
  gpu_options=("${lsf_gpu_option[@]//\{\}/$gpus}") memory_template=lsf_memory_option
fi
[ "$gpus" != 0 ] || gpu_options=()
take_queue gpu_options
gpu_queue=$queue
take_queue merge_options
merge_queue=$queue
take_queue site_options
job_queue=${partition:-${gpu_queue:-$queue}}
if [ -n "$merge_queue" ]; then :
elif [ "$gpus" = 0 ]; then merge_queue=$job_queue
elif [ "$queue" != "$job_queue" ]; then merge_queue=$queue; fi
# The options of the command line follow those of the site files. sbatch uses the last of several equal options; for bsub,
# the one of the site files is removed.
user_options=() user_mail=()
if [ "$scheduler" = slurm ]; then
  user_options=(${account:+"--account=$account"} ${qos:+"--qos=$qos"})
  [ -z "$mail_user" ] || user_mail=("--mail-user=$mail_user" "--mail-type=END,FAIL")
else
  [ -z "$qos" ] || die_with_usage "--qos requires Slurm; for a service class of LSF, use --scheduler-option -sla --scheduler-option ${qos@Q}"
  for options in site_options gpu_options merge_options; do
    [ -z "$account" ] || take_option $options -P
    [ -z "$mail_user" ] || take_option $options -u
  done
  [ -z "$account" ] || user_options=(-P "$account")
  [ -z "$mail_user" ] || user_mail=(-u "$mail_user" -N)
fi
user_options+=("${scheduler_options[@]}")
job_memory=() merge_memory_options=()
[ -z "$memory" ] || { format_memory $memory_template "$memory" "${cores:-1}"; job_memory=("${memory_options[@]}"); }
[ -z "$merge_memory" ] || { format_memory $memory_template "$merge_memory" 1; merge_memory_options=("${memory_options[@]}"); }
if [ "$scheduler" = slurm ]; then
  if [ -n "$array" ]; then log=$name-%A_%a.out; else log=$name-%j.out; fi
  submit=(sbatch --parsable "--time=$(format_limit "$limit_s")" ${job_queue:+"--partition=$job_queue"} "${site_options[@]}"
    --job-name="$name" --nodes="$nodes" "--signal=B:USR1@$signal_lead_s" --output="$log")
  [ -z "$array" ] || submit+=(--array="$task_indices${max_running:+%$max_running}")
  if [ -n "$cores" ]; then submit+=(--cpus-per-task="$cores"); else submit+=(--exclusive); fi
  submit_merge=(sbatch --parsable "--time=$(format_limit "$merge_limit_s")" ${merge_queue:+"--partition=$merge_queue"}
    "${site_options[@]}" --job-name="$name-merge" --output="$name-merge-%j.out" --nodes=1
    "${merge_memory_options[@]}" "${merge_options[@]}" "${user_mail[@]}" "${user_options[@]}")
else
  log=$name-%J${array:+_%I}.out
  submit=(bsub -W "$(format_limit "$limit_s")" ${job_queue:+-q "$job_queue"} "${site_options[@]}"
    -J "$name${array:+[$task_indices]}${max_running:+%$max_running}" -o "$log" -n $((nodes * cores))
    -R "span[ptile=$cores]" -wt $(((signal_lead_s + 59) / 60)) -wa USR1 -Q 75 -r)
  submit_merge=(bsub -W "$(format_limit "$merge_limit_s")" ${merge_queue:+-q "$merge_queue"} "${site_options[@]}"
    -J "$name-merge" -o "$name-merge-%J.out" -n 1 "${merge_memory_options[@]}" "${merge_options[@]}" "${user_mail[@]}" "${user_options[@]}")
  [ -z "$array" ] || user_mail=()  # LSF would send one mail for each job of the array
  # bsub expects the command as one line for a shell.
  job_command=("$(quote_command "${job_command[@]}")") merge_command=("$(quote_command "${merge_command[@]}")")
fi
submit+=("${gpu_options[@]}" "${job_memory[@]}" "${user_mail[@]}" "${user_options[@]}")

# Prints the limits of submitted jobs that Slurm's accounting has for this user, in parentheses; '' if it has none.
describe_submit_limits() {
  local limits
  limits=$({ timeout 5 sacctmgr -nP show assoc where user="$(id -un)" format=Account,MaxSubmitJobs &&
    timeout 5 sacctmgr -nP show qos format=Name,MaxSubmitJobsPerUser; } 2> /dev/null | sed -n 's/^\(.*\)|\([0-9]\+\)$/\1: \2/p' | paste -sd ,)
  echo "${limits:+ (limits of accounts and QOS: ${limits//,/, })}"
}
# submit_job COMMAND...: runs a submission command, and sets job_id to the ID of the job. Returns 1, after a message, if that
# fails or prints no ID. In a dry run prints the command, and sets job_id to JOB.
submit_job() {
  local output status=0 text line='^([0-9]+(;[^;[:blank:]]+)?|(sbatch: )?Submitted batch job [0-9]+.*)[[:space:]]*$' id='s/^[^0-9]*([0-9]+).*/\1/'
  if [ -n "$dry_run" ]; then quote_command "$@"; job_id=JOB; return; fi
  [ "$scheduler" = slurm ] || line='Job <[0-9]+> is submitted' id='s/.*Job <([0-9]+)> is.*/\1/'
  # Messages of the scheduler and of the site are shown at once: bsub waits if too many jobs are pending, and reports it.
  output=$("$@" 2>&1 | while IFS= read -r text || [ -n "$text" ]; do
    [[ $text =~ $line ]] || printf '%s\n' "$text" >&2
    printf '%s\n' "$text"
  done) || status=$?
  if [ $status != 0 ]; then
    [[ ! $output =~ (Assoc|QOS)(Max|Grp)[A-Za-z]*Submit[A-Za-z]* && ! $output =~ [Pp]ending\ job[a-z\ ]*(limit|threshold) ]] ||
      echo "submit.sh: the limit of submitted jobs is reached: ${BASH_REMATCH[0]}$(describe_submit_limits); wait until jobs have" \
        "ended, or submit an array of fewer jobs with --take-over, so that each of them continues with unfinished shards;" \
        "an array counts as its jobs plus the merge job" >&2
    return 1
  fi
  job_id=$(grep -E "$line" <<< "$output" | sed -E "$id" | sort -u) || true
  [[ ! $job_id =~ ^[0-9]+$ ]] || return 0
  [ -z "$job_id" ] || job_id=" but: ${job_id//$'\n'/, }"
  echo "submit.sh: the output of $1 must contain one job ID$job_id; a job may have been submitted, so check the queue before you" \
    "submit it again; the output was: $output" >&2
  return 1
}
# die_without_merge OPTION...: reports that the merge job is missing, and the command that merges without it; exits with 1.
die_without_merge() {
  local first_shard_file
  first_shard_file=$(query_run "$@" --shard "1/$array" --print-out) || first_shard_file=$result_file.part-1-of-$array
  die "$scheduler did not accept the merge job; when job $array_id has ended, run wallheat merge --update --out" \
    "$(quote_command "$result_file" "${first_shard_file%.part-*}").part-*-of-$array${first_shard_file##*"-of-$array"}"
}
submit_job "${submit[@]}" "${job_command[@]}" || die "$scheduler did not accept the job"
if [ -z "$dry_run" ]; then
  log=${log//%[AJj]/$job_id}
  echo "submitted: job $job_id"
  echo "log: $PWD/${log//%[aI]/K}${array:+, with the number of the shard for K}"
  result_file=$(query_run "$@" --shard none --print-out) && echo "progress: wallheat status $(quote_command "$result_file")"
fi
if [ -n "$array" ]; then
  array_id=$job_id
  if [ "$scheduler" = slurm ]; then dependency=(--dependency="afterany:$array_id"); else dependency=(-w "ended($array_id)"); fi
  submit_job "${submit_merge[@]}" "${dependency[@]}" "${merge_command[@]}" ||
    die_without_merge "$@"
  [ -n "$dry_run" ] || echo "submitted: job $job_id, which merges the shard files when job $array_id has ended"
fi
[ -z "$dry_run" ] || cat "$script" "$root/jobs/job.sh"
