#!/usr/bin/env bash
# Starts 'wallheat run' under mpirun so that a death does not end the run, and
# ends as the run does.
#   wallheat launch [OPTIONS OF mpirun] -- wallheat run -d PLANS -o FILE [OPTIONS]
#   wallheat launch -n 5 -- wallheat run -d plans -o results.h5   # four workers
#
# With Open MPI 4 a worker, its node or its cable may be lost: its plans go to
# others. With Open MPI 5 a worker may die. If rank 0 dies or hangs, the run is
# ended. SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGQUIT, SIGHUP and Ctrl-C stop the
# run in good order, a second Ctrl-C by force.
# Exit status: 0 all done; 1 the run failed, or was stopped before it solved
# anything; 2 wrong usage; 3 finished, but some plans failed; 75 stopped early
# with work left: run it again with --resume.
# Environment: MPIRUN, mpirun of Open MPI 4 or 5 (default: mpirun); WALLHEAT_SSH,
# what reaches other hosts without a scheduler (default: ssh); WALLHEAT_SILENCE_S,
# seconds without a sign of life from rank 0 until the run is ended (default: 300;
# twice as long until its first). Options and OMPI_MCA_... variables of your own
# win. The folder of --out must be the same one for this script and for rank 0.
set -uo pipefail
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=usage.sh
. "$here/usage.sh"
usage 0 "$@"
say() { echo "launch.sh: $*" >&2; }

mpirun=${MPIRUN:-mpirun} silence_s=${WALLHEAT_SILENCE_S:-300} mpirun_options=() program=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do mpirun_options+=("$1"); shift; done
[ $# -gt 1 ] || { say "nothing to start: options of mpirun come before --, the command after it"; exit 2; }
shift
[ "$1" != wallheat ] || command -v wallheat > /dev/null || set -- "$("$here/find-wallheat.sh")" "${@:2}"
for word; do [ "$word" != run ] || break; program+=("$word"); done
result=$("$@" --print-out) || { [ $? != 2 ] || exit 2; say "'$1' cannot be started here"; exit 1; }
case $result in /*) ;; *) printf '%s\n' "$result"; exit ;; esac  # --help
case $("$mpirun" --version 2> /dev/null) in
  *'(Open MPI) 4'*) mpirun_options=(--enable-recovery "${mpirun_options[@]}") ;;
  *'(Open MPI) 5'*) mpirun_options=(--with-ft ulfm "${mpirun_options[@]}") ;;
  *) say "'$mpirun' is no mpirun of Open MPI 4 or 5, which survive a death: load your site's module, or set MPIRUN"; exit 1 ;;
esac
# Workers choose their cores, a cut cable is noticed in 6 s, a scheduler's SIGTERM leaves time to close the file.
for default in {OMPI_MCA_hwloc_base,PRTE_MCA_hwloc_default}_binding_policy=none OMPI_MCA_odls_base_sigkill_timeout=4 \
  OMPI_MCA_oob_tcp_keepalive_{time=2,intvl=1,probes=3} {OMPI_MCA_plm_rsh,PRTE_MCA_plm_ssh}_agent=delayed-exit-ssh.sh \
  ${SLURM_JOB_ID:+OMPI_MCA_plm_slurm_args=--no-kill}; do
  printenv "${default%%=*}" > /dev/null || export "${default?}"
done

pid='' asked='' interrupts=0
stop() { asked=$SECONDS; [ -z "$pid" ] || kill -USR1 "$pid" 2> /dev/null; }  # mpirun passes it on to all ranks
interrupt() { if [ $((++interrupts)) = 1 ]; then stop; else kill -TERM "$pid" 2> /dev/null; fi; }
trap stop TERM USR1 USR2 HUP QUIT XCPU ALRM
trap interrupt INT
trap : PIPE
pass_on() {  # What mpirun says, but no noise about ranks that end or are lost once rank 0 is at work.
  trap '' TERM USR1 USR2 HUP QUIT XCPU ALRM INT PIPE
  while IFS= read -r line || [ -n "$line" ]; do
    [ ! -e "$result.status" ] || began=yes
    [[ ${began:-} = yes && $line =~ ^'['.*\ (PMIX ERROR|ORTE_ERROR_LOG):|^mpirun:\ Forwarding ]] || printf '%s\n' "$line"
  done >&2
}
session() { "${program[@]}" status --session "$result" 2> /dev/null; }
look() { sign=''; IFS= read -rd '' sign < "$result.status"; } 2> /dev/null
before=$(session)
look
last=$sign closed='' heard=$SECONDS limit_s=$((2 * silence_s))
exec {messages}> >(pass_on) {clock}<> <(:)
reader=$! tie=(setpriv --pdeathsig TERM)  # should this script be killed, mpirun is told to end
"${tie[@]}" true 2> /dev/null || tie=()
set -m  # mpirun in a process group of its own: a Ctrl-C reaches it through this script alone
PATH=$here:$PATH "${tie[@]}" "$mpirun" "${mpirun_options[@]}" "$@" < /dev/null 2>&"$messages" {messages}>&- &
pid=$!
disown "$pid"  # or bash reports its death
set +m
exec {messages}>&-

running() { kill -0 "$pid" 2> /dev/null; }
pause() { read -rt 0.2 -u "$clock"; }  # bash loses a Ctrl-C that comes while it waits for a program
ends_in() { for ((i = 0; i < 5 * $1; ++i)); do running || return 0; pause; done; ! running; }
is_childless() {  # the ranks of this host have ended, and the ways to others
  local file children=''
  for file in /proc/"$pid"/task/*/children; do read -r children < "$file"; [ -z "$children" ] || return; done
  [ -e "$file" ]
} 2> /dev/null
while running; do
  pause
  look
  if [ "$sign" != "$last" ]; then
    # Rank 0 replaces FILE.status every 2 s, and removes it when the file is closed. Then it ends mpirun, after 30 s of
    # --notify at most, if mpirun is on its host.
    last=$sign heard=$SECONDS limit_s=$silence_s closed=''
    [ -n "$sign" ] || closed=yes limit_s=$((silence_s < 40 ? silence_s : 40))
  elif [ $((SECONDS - heard)) -ge "$limit_s" ] || { [ -n "$closed" ] && [ $((SECONDS - heard)) -ge 2 ] && is_childless; }; then
    if [ -z "$closed" ]; then
      say "no sign of life from rank 0 for $limit_s s; ending the run"
      kill -USR1 "$pid" && ends_in 5 && break  # it may still be able to close its file
    fi
    kill -TERM "$pid"
    ends_in 20 || cat /proc/"$pid"/task/*/children 2> /dev/null | xargs kill -KILL "$pid"  # with its ranks here
  elif [ -n "$asked" ] && [ $((SECONDS - asked)) -ge 5 ]; then
    stop  # once more, in case that mpirun or a rank was not ready to listen
  fi
done
folder=${TMPDIR:-/tmp}/ompi.${HOSTNAME:-host}.$EUID/pid.$pid job=0
if [ -d "$folder" ]; then  # mpirun has not cleaned up
  IFS=. read -r job _ < "$folder/contact.txt"
  rm -rf "$folder" /dev/shm/vader_segment.*."$EUID.$(printf %x $((job >> 16)))"????.*
fi
rm -f "${TMPDIR:-/tmp}"/pmix-gds-shmem.*."$pid"  # PMIx 5, of Ubuntu 24.04, leaves them if a rank was killed
for _ in {1..5}; do kill -0 "$reader" 2> /dev/null || break; pause; done  # all that mpirun has said comes first

after=$(session)  # mpirun's own status is 0 even if all ranks have failed
status=$?
if [ "${after%%,*}" = "${before%%,*}" ] || [[ $after = *', being written:'* ]]; then  # there was no session of this run
  answer=$("$@" --check=job 2> /dev/null) || exit
  word=$("${program[@]}" status --word "$result" 2> /dev/null)
  case $word$asked:$answer in
    failed*:*$'\ndone '*) exit 3 ;;
    left[0-9]*:*$'\ndone '*) exit 75 ;;  # stopped before the file was made whole
    done*:*$'\ndone '* | left:*$'\ndone '*) exit 0 ;;
  esac
  say "the run ended before it solved anything; if it had too little time, give it more, and go on with --resume"
  exit 1
fi
[ $status = 0 ] || [ $status = 3 ] || say "$after"
exit $status
