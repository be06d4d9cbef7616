# shellcheck shell=bash disable=SC2034,SC2154
# Shared code of slurm.sh and lsf.sh, which source it. Both scripts take these arguments:
#   FOLDER [site=FILE]... [workers=W] [array=N [take_over=yes]] [merge=N] -- OPTIONS OF wallheat run
#
#   FOLDER         the folder of these scripts
#   site=FILE      a site file that submit.sh has read, once for each file; without any, the job reads the files that
#                  submit.sh would read on this host
#   workers=W      number of workers on each node
#   array=N        this job is one of the N jobs of a job array
#   take_over=yes  when the job has solved its shard, it continues with shards that no other job solves
#   merge=N        merge N shard files instead of solving plans
folder=$1 site_files=() workers=1 array='' take_over='' merge=''
shift
while [ "${1:---}" != -- ]; do
  case $1 in site=*) site_files+=("${1#site=}") ;; *) declare "$1" ;; esac
  shift
done
shift
# shellcheck source-path=SCRIPTDIR source=site-files.sh
. "$folder/site-files.sh"
[ ${#site_files[@]} -gt 0 ] || find_site_files "$folder/.."
for site_file in "${site_files[@]}"; do
  require_site_file "$site_file"
  # shellcheck source-path=SCRIPTDIR source=../configs/site.sh
  . "$site_file"
done
eval "$setup"
[ ${#wallheat[@]} -gt 0 ] || wallheat=("$("$folder/find-wallheat.sh")")
if [ -n "$merge" ]; then
  out=$("${wallheat[@]}" run "$@" --shard none --print-out) || exit
  first_shard_file=$("${wallheat[@]}" run "$@" --shard "1/$merge" --print-out) || exit
  exec "${wallheat[@]}" merge --update --out "$out" "${first_shard_file%.part-*}".part-*"-of-$merge${first_shard_file##*"-of-$merge"}"
fi

# The first signal shows why the job is stopped: scancel and bkill send only SIGTERM, but SIGTERM is also sent at the time
# limit itself.
run_pid='' stopped_by=''
stop() { stopped_by=${stopped_by:-$1}; [ -z "$run_pid" ] || kill -USR1 "$run_pid" 2> /dev/null; }
trap 'stop limit' USR1 USR2 XCPU HUP
trap 'stop cancel' TERM INT QUIT
trap : PIPE  # output without a reader is dropped

# solve NODES INDEX [OPTIONS OF mpirun]: solves the plans of this job and waits for the run to end. Sets status to its
# exit status, and stopped_by to limit, cancel, or requeue if is_requeued, which the calling script defines, returns true
# after SIGTERM. Starts one rank more than there are workers, for rank 0; without MPI, one process for one worker.
solve() {
  local launch=launch.sh
  [ -z "$take_over" ] || launch=take-over.sh
  # A program that was built without MPI runs as one process, so mpirun gets no options.
  local mpirun_options=(-n $(($1 * workers + 1)) --map-by node:OVERSUBSCRIBE "${@:3}")
  [[ $(($1 * workers)) != 1 || $("${wallheat[@]}" version --json 2> /dev/null) != *'"mpi": "none"'* ]] || mpirun_options=()
  "$folder/$launch" "${mpirun_options[@]}" -- \
    "${wallheat[@]}" run --resume "${options[@]}" ${array:+--shard "$2/$array"} &
  run_pid=$!
  [ -z "$stopped_by" ] || stop "$stopped_by"
  while kill -0 $run_pid 2> /dev/null; do wait $run_pid; done
  wait $run_pid
  status=$?
  [ "$status:$stopped_by" != 75:cancel ] || ! is_requeued || stopped_by=requeue
  case $status:$stopped_by in
    75:cancel) echo "The job was cancelled; all results are stored. To resume, submit it again." ;;
    75:requeue) echo "The scheduler requeues the job, for example after a preemption; it will resume." ;;
    75:limit) echo "The job's signal stopped the run before the job's time limit, with plans left to solve." ;;
    75:*) echo "The run stopped with plans left to solve; see the messages above." ;;
  esac
}
options=("$@")
