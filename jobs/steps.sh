# shellcheck shell=bash disable=SC2154,SC2034  # a study sets out; it reads data, wallheat and interpreter
# Shared code of the studies in jobs/examples, which source it. A study is a list of steps, and `wallheat page` creates
# a page from their results. The result of a step is a file in $out: NAME.json for a command of wallheat, NAME.txt for
# another command, NAME.svg for a picture. A step whose file exists is skipped, so the same command resumes a study that
# was stopped. Commands run in $out. With --list the steps are only printed.
unset CDPATH
jobs=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=usage.sh
. "$jobs/usage.sh"

die() { echo "$study_name: $1" >&2; exit "${2:-2}"; }
log_stop() { echo "$study_name: stopped at: $step; run the same command to resume" >&2; }

# start_study NAME... -- "$@"    parses the options: sets the variable NAME for each option --NAME VALUE, and requires the
# options whose variables are empty. Then creates and locks the folder $out, and changes to it.
start_study() {
  local name options=() settings
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  study_name=${0##*/}
  usage 1 "$@"
  list_only=
  while [ $# -gt 0 ]; do
    name=${1#--}
    case " ${options[*]} list " in *" $name "*) ;; *) die "unknown option '$1'; see $study_name --help" ;; esac
    if [ "$1" = --list ]; then list_only=yes; shift; continue; fi
    [ $# -ge 2 ] || die "$1 requires a value"
    declare -g "$name=$2"
    shift 2
  done
  for name in "${options[@]}"; do [ -n "${!name}" ] || die "--$name is required; see $study_name --help"; done
  if [ "${data:-}" ]; then data=$(realpath -- "$data"); fi
  wallheat=$("$jobs/find-wallheat.sh")
  for interpreter in ${PYTHON:-python3 /usr/bin/python3} ''; do
    ! "$interpreter" -c 'import numpy' 2> /dev/null || break  # empty if no Python has NumPy
  done
  page_inputs=() task_count=0
  [ ! "$list_only" ] || return 0
  mkdir -p -- "$out"
  cd -- "$out" || exit
  exec {lock}>> .lock  # does not empty a file of the user
  # The commands of a study hold its lock, too: one that was killed releases it only when its last write has ended.
  flock --timeout 5 "$lock" || die "another study is running in $out" 1
  settings=$(for name in "${options[@]}"; do [ "$name" = out ] || echo "$name=${!name}"; done)
  [ -s options ] || run_step options echo "$study_name"$'\n'"$settings"
  [ "$(< options)" = "$study_name"$'\n'"$settings" ] ||
    die "$out was created with other options, which are in $out/options; choose another folder"
  trap log_stop ERR
}

# run_step FILE COMMAND...    runs the command unless FILE exists. @OUT@ in an argument is replaced by the name of the file
# to write; without @OUT@ the command's stdout is written to the file. FILE appears only after the command has succeeded.
run_step() {
  local file=$1 temporary_file=part-$1 command
  step=$1
  shift
  command=("${@//@OUT@/$temporary_file}")
  if [ "$list_only" ]; then printf '    %-24s %s\n' "$step" "${command[*]//part-/}"; return; fi
  [ ! -e "$file" ] || return 0
  [ "$file" = options ] || echo "$study_name: $step" >&2
  rm -f "$temporary_file"*  # also the journals and the lock of a result file
  if [ "${command[*]}" != "$*" ]; then "${command[@]}" > /dev/null; else "${command[@]}" > "$temporary_file"; fi
  mv "$temporary_file" "$file"
  rm -f "$temporary_file".status  # of a result file
}
# solve_step FILE [OPTIONS OF wallheat run]    solves plans into a result file; failed plans do not stop the study
solve_step() {
  local status=0
  step=$1
  if [ "$list_only" ]; then printf '    %-24s wallheat run %s\n' "$step" "${*:2}"; return; fi
  echo "$study_name: $step" >&2
  "$wallheat" run --out "$step" --resume --progress none --log-level warning "${@:2}" || status=$?
  [ $status = 0 ] || [ $status = 3 ] || { log_stop; exit $status; }
}

# wallheat_step NAME CAPTION COMMAND...    writes the report of a command of wallheat to NAME.json, for the page
wallheat_step() { run_step "$1.json" "$wallheat" "${@:3}" --json --title "$2"; page_inputs+=("$1.json"); }
# plot_step NAME CAPTION OPTIONS OF wallheat plot    draws NAME.svg, for the page
plot_step() { run_step "$1.svg" "$wallheat" plot "${@:3}" --title "$2" --size 920x920 --out @OUT@; page_inputs+=("$1.svg"); }
# text_step NAME CAPTION COMMAND...    writes the caption and the stdout of another command to NAME.txt, for the page
text_step() { run_step "$1.txt" captioned "${@:2}"; page_inputs+=("$1.txt"); }
# captioned CAPTION COMMAND...    prints the caption, then runs the command; --list prints this name
captioned() { echo "$1"; "${@:2}"; }
# begin_task TITLE [TEXT]    adds the heading of the next steps to the page
begin_task() {
  if [ "$list_only" ]; then echo "$1"; return; fi
  task_count=$((task_count + 1))
  printf '%s\n' "$@" > "task-$task_count.txt"
  page_inputs+=("task-$task_count.txt")
}
# note_omission NAME REASON    adds to the page, and prints to stderr, that a step is skipped, and the reason
note_omission() {
  if [ "$list_only" ]; then echo "    skipped: $1: $2"; return; fi
  echo "$study_name: skipped: $1: $2" >&2
  printf 'Skipped: %s\n%s\n' "$1" "$2" > "left-out-$1.txt"
  page_inputs+=("left-out-$1.txt")
}
# write_page TITLE    creates $out/index.html from the results of all steps
write_page() {
  [ ! "$list_only" ] || return 0
  "$wallheat" page "${page_inputs[@]}" --title "$1" --out index.html --overwrite > /dev/null
  echo "$out/index.html"
}

# list_plans    prints the IDs of the plans in the folder $data in their order: that of building_ids.txt, else 9 before 10
list_plans() {
  if [ -e "$data/building_ids.txt" ]; then
    sed 's/[[:space:]]*$//' "$data/building_ids.txt" | awk 'NF && !/^#/ && !seen[$0]++'
  else
    find "$data" -maxdepth 1 -name '[!.]*_domain.npy' -printf '%f\n' | sed 's/_domain\.npy$//' | LC_ALL=C sort -V
  fi
}
# read_value KEY NAME    prints the number of KEY in NAME.json, or 1 if the file does not exist yet
read_value() {
  local value
  value=$(sed -n "s/^[ {]*\"$1\": \([^,}]*\)[,}]\{0,1\}$/\1/p" "$2.json" 2> /dev/null || true)
  echo "${value:-1}"
}
has_gpu() { "$wallheat" devices --json | grep -q '"no_gpu": null'; }
