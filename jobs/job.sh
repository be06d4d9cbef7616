# shellcheck shell=bash disable=SC2034,SC2154
# What slurm.sh and lsf.sh share. They are called, and source this, with
#   FOLDER [site=FILE] [workers=W] [array=N [take_over=yes]] [merge=N] -- OPTIONS OF wallheat run
# FOLDER: that of these scripts; site: as submit.sh --site; workers: on each node; array: this is one of N jobs, of which
# take_over lets each go on with parts that no job is at; merge: make one file of N parts.
folder=$1 site='' workers=1 array='' take_over='' merge=''
shift
while [ "${1:---}" != -- ]; do declare "$1"; shift; done
shift
[ -r "${site:=/dev/null}" ] || { echo "$site cannot be read on $HOSTNAME" >&2; exit 1; }
# shellcheck source-path=SCRIPTDIR source=../configs/site.sh
. "$folder/../configs/site.sh"
# shellcheck source-path=SCRIPTDIR source=../configs/site.sh
. "$site"
eval "$setup"
[ ${#wallheat[@]} -gt 0 ] || wallheat=("$("$folder/find-wallheat.sh")")
if [ -n "$merge" ]; then
  out=$("${wallheat[@]}" run "$@" --shard none --print-out) || exit
  part=$("${wallheat[@]}" run "$@" --shard "1/$merge" --print-out) || exit
  exec "${wallheat[@]}" merge --out "$out" "${part%.part-*}".part-*"-of-$merge${part##*"-of-$merge"}"
fi

# The first signal tells why a job is stopped: SIGTERM alone comes with scancel and bkill, but also at the time limit itself.
run='' stopped_by=''
stop() { stopped_by=${stopped_by:-$1}; [ -z "$run" ] || kill -USR1 "$run" 2> /dev/null; }
trap 'stop limit' USR1 USR2 XCPU HUP
trap 'stop cancel' TERM INT QUIT
trap : PIPE  # text that nobody reads is lost text

# solve NODES INDEX [OPTIONS OF mpirun]: the plans of this job, to its end; sets status. Rank 0 comes on top of the workers.
solve() {
  local launch=launch.sh
  [ -z "$take_over" ] || launch=take-over.sh
  "$folder/$launch" -n $(($1 * workers + 1)) --map-by node:OVERSUBSCRIBE "${@:3}" -- \
    "${wallheat[@]}" run --resume "${options[@]}" ${array:+--shard "$2/$array"} &
  run=$!
  [ -z "$stopped_by" ] || stop "$stopped_by"
  while kill -0 $run 2> /dev/null; do wait $run; done
  wait $run
  status=$?
  case $status:$stopped_by in
    75:cancel) echo "The job was cancelled; what was solved is stored. To go on, submit it again." ;;
    75:limit) echo "The job's signal stopped the run before the job's time limit, with work left." ;;
    75:*) echo "The run stopped with work left; the lines above say why." ;;
  esac
}
options=("$@")
