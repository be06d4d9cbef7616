# shellcheck shell=bash disable=SC2154,SC2034  # a study sets out, and reads data, wallheat and interpreter
# For the studies in jobs/examples to source: steps that are made once each, and `wallheat page` of what they made.
# A step's result is a file in $out: NAME.json of wallheat's commands, NAME.txt of others, NAME.svg of pictures. A step
# whose file is there is passed over, so the same command goes on where it was stopped. Commands run in $out. With --list
# the steps are printed and nothing is done.
unset CDPATH
jobs=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=usage.sh
. "$jobs/usage.sh"

refuse() { echo "$me: $1" >&2; exit "${2:-2}"; }
stop() { echo "$me: stopped at: $step; the same command goes on there" >&2; }

# study NAME... -- "$@"    sets the variable of each option --NAME VALUE; one that is empty must be given
study() {
  local name options=() asked
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  me=${0##*/}
  usage 1 "$@"
  list_only=
  while [ $# -gt 0 ]; do
    name=${1#--}
    case " ${options[*]} list " in *" $name "*) ;; *) refuse "there is no option '$1'; see $me --help" ;; esac
    if [ "$1" = --list ]; then list_only=yes; shift; continue; fi
    [ $# -ge 2 ] || refuse "$1 wants a value"
    declare -g "$name=$2"
    shift 2
  done
  for name in "${options[@]}"; do [ -n "${!name}" ] || refuse "give --$name; see $me --help"; done
  if [ "${data:-}" ]; then data=$(realpath -- "$data"); fi
  wallheat=$("$jobs/find-wallheat.sh")
  for interpreter in ${PYTHON:-python3 /usr/bin/python3} ''; do
    ! "$interpreter" -c 'import numpy' 2> /dev/null || break  # it ends empty if no Python has NumPy
  done
  pages=() tasks=0
  [ ! "$list_only" ] || return 0
  mkdir -p -- "$out"
  cd -- "$out" || exit
  exec {lock}> .lock
  flock --nonblock "$lock" || refuse "another study is at work in $out" 1
  asked=$(for name in "${options[@]}"; do [ "$name" = out ] || echo "$name=${!name}"; done)
  [ -s options ] || made options echo "$me"$'\n'"$asked"
  [ "$(< options)" = "$me"$'\n'"$asked" ] ||
    refuse "$out was begun with other options, which are in $out/options; name another folder"
  trap stop ERR
}

# made FILE COMMAND...    runs the command unless FILE is there; @OUT@ among its words is the file to write, without it
# the output is the file. Nothing stands under the file's name before the command has ended well.
made() {
  local file=$1 part=part-$1 words
  step=$1
  shift
  words=("${@//@OUT@/$part}")
  if [ "$list_only" ]; then printf '    %-24s %s\n' "$step" "${words[*]//part-/}"; return; fi
  [ ! -e "$file" ] || return 0
  [ "$file" = options ] || echo "$me: $step" >&2
  rm -f "$part"*  # also what lies beside a result file while it is written
  if [ "${words[*]}" != "$*" ]; then "${words[@]}" > /dev/null; else "${words[@]}" > "$part"; fi
  mv "$part" "$file"
}
# solved FILE [OPTIONS OF wallheat run]    a result file; plans that fail are left to who looks at it
solved() {
  local status=0
  step=$1
  if [ "$list_only" ]; then printf '    %-24s wallheat run %s\n' "$step" "${*:2}"; return; fi
  echo "$me: $step" >&2
  "$wallheat" run --out "$step" --resume --progress none --log-level warning "${@:2}" || status=$?
  [ $status = 0 ] || [ $status = 3 ] || { stop; exit $status; }
}

# told NAME CAPTION COMMAND...    what a command of wallheat tells, for the page
told() { made "$1.json" "$wallheat" "${@:3}" --json --title "$2"; pages+=("$1.json"); }
# picture NAME CAPTION OPTIONS OF wallheat plot
picture() { made "$1.svg" "$wallheat" plot "${@:3}" --title "$2" --size 920x920 --out @OUT@; pages+=("$1.svg"); }
# text NAME CAPTION COMMAND...    what another command prints, below the caption
text() { made "$1.txt" captioned "${@:2}"; pages+=("$1.txt"); }
captioned() { echo "$1"; "${@:2}"; }
# task TITLE [TEXT]    the head of what follows
task() {
  if [ "$list_only" ]; then echo "$1"; return; fi
  tasks=$((tasks + 1))
  printf '%s\n' "$@" > "task-$tasks.txt"
  pages+=("task-$tasks.txt")
}
# left_out WHAT WHY
left_out() {
  if [ "$list_only" ]; then echo "    left out: $1: $2"; return; fi
  echo "$me: left out: $1: $2" >&2
  printf 'Left out: %s\n%s\n' "$1" "$2" > "left-out-$1.txt"
  pages+=("left-out-$1.txt")
}
# page TITLE    $out/index.html
page() {
  [ ! "$list_only" ] || return 0
  "$wallheat" page "${pages[@]}" --title "$1" --out index.html --overwrite > /dev/null
  echo "$out/index.html"
}

# value KEY NAME    a number of NAME.json; 1 if it is not there yet
value() {
  local found
  found=$(sed -n "s/^[ {]*\"$1\": \([^,}]*\)[,}]\{0,1\}$/\1/p" "$2.json" 2> /dev/null || true)
  echo "${found:-1}"
}
has_gpu() { "$wallheat" devices --json | grep -q '"no_gpu": null'; }
