# shellcheck shell=bash disable=SC2034,SC2154
# What the cases share: running benchmon, saying what must come of it, waiting for what will come.
: "${e2e:?}"

# Of a case, in seconds, on a machine that is emulated and busy.
patience=${E2E_PATIENCE:-300}

fail() { # WHY: ends the case
	echo "$*"
	if [[ -n ${last-} ]]; then
		printf '$ %s\nexit %s\n' "$last" "$code"
		printf 'stdout: %s\n' "${out:0:2000}"
		printf 'stderr: %s\n' "${err:0:2000}"
	fi
	exit 1
}

# Reads a file without its last newlines, and without a process.
slurp() { # FILE VARIABLE
	local text=
	IFS= read -rd '' text <"$1" || :
	while [[ $text == *$'\n' ]]; do
		text=${text%$'\n'}
	done
	printf -v "$2" %s "$text"
}

# Leaves the exit code in $code, what was printed in $out and $err.
capture() { # COMMAND...
	last="$*"
	code=0
	"$@" >"$tmp/out" 2>"$tmp/err" || code=$?
	slurp "$tmp/out" out
	slurp "$tmp/err" err
}

bm() { # ARGUMENT...: benchmon, with nothing to read
	capture benchmon "$@" </dev/null
}

printed() { # WORDS...
	local words
	for words; do
		[[ $out == *"$words"* ]] || fail "not on stdout: $words"
	done
}

in_cgroup() { # BENCH STATE: a process of it is in that state
	local pid
	for pid in $(<"/sys/fs/cgroup/benchmon/$1/cgroup.procs"); do
		! grep -q "^State:.$2" "/proc/$pid/status" || return 0
	done
	return 1
}

did() { # WORDS...: it succeeded, without a complaint, and printed the words
	[[ $code -eq 0 ]] || fail "exit code $code, not 0"
	[[ -z $err ]] || fail 'it complained'
	printed "$@"
}

ended() { # CODE: whatever it printed
	[[ $code -eq $1 ]] || fail "exit code $code, not $1"
}

refused() { # CODE WORDS...: in one line on stderr that has the words, and nothing on stdout
	local words
	[[ $code -eq $1 ]] || fail "exit code $code, not $1"
	[[ -z $out ]] || fail 'refused, and yet it printed something'
	[[ $err == 'benchmon: '* && $err != *$'\n'* ]] || fail 'the refusal is not one line'
	shift
	for words; do
		[[ $err == *"$words"* ]] || fail "not in the refusal: $words"
	done
}

same() { # WANTED GOT [WHAT]
	[[ $1 == "$2" ]] || fail "${3-it} is '$2', not '$1'"
}

# A moment, in which only a signal can wake us: nobody writes to that pipe.
tick() {
	read -rt 0.02 <&"$never" || :
}

soon() { # COMMAND...: becomes true within a minute
	local end=$((SECONDS + 180))
	until "$@"; do
		((SECONDS < end)) || fail "never: $*"
		tick
	done
}

gone() { # PID
	[[ ! -e /proc/$1 ]]
}

line_from() { # FD VARIABLE: the next line, within a minute
	IFS= read -rt 60 -u "$1" "${2?}" || fail "no line came from fd $1"
}

# Asks the server of helpers; the exit status is what it answers. A case that was killed may have
# left an answer, so they have numbers.
helper() { # WORD...
	local IFS=$'\t' number=$RANDOM$RANDOM$BASHPID answer=
	set -- "${@//$'\n'/$'\x1e'}"
	set -- "${@//$'\t'/$'\x1f'}"
	printf '%s\n' "$number$IFS$*" >&"$requests"
	until [[ $answer == "$number "* ]]; do
		read -rt "$patience" -u "$answers" answer || fail "no answer: $*"
	done
	return "${answer#* }"
}

python() { # HELPER ARGUMENT...: leaves exit code, stdout and stderr as capture does
	last="$*"
	code=0
	helper run "$1" "$tmp/out" "$tmp/err" "${@:2}" || code=$?
	slurp "$tmp/out" out
	slurp "$tmp/err" err
}

py() { # HELPER ARGUMENT...: must succeed
	python "$@"
	[[ $code -eq 0 ]] || fail "$1 found something wrong"
}

# Says below the case's line how long a command took. An emulated machine is 20 times as slow as one.
took() { # SECONDS COMMAND...: in no more than that
	local began=${EPOCHREALTIME/./} ms
	"${@:2}"
	ms=$(((${EPOCHREALTIME/./} - began) / 1000))
	printf 'took %6d ms  %s\n' "$ms" "${*:2}"
	((ms <= $1 * 1000)) || fail "it took $ms ms, and may take $1 s"
}

key() { # KEY: its value, a string or number, in the JSON of $out
	[[ $out =~ \"$1\":(\"([^\"]*)\"|([0-9]+)) ]] || fail "no key $1"
	value=${BASH_REMATCH[2]}${BASH_REMATCH[3]}
}

narrow() { # no line of $out is wider than a terminal
	local line
	while IFS= read -r line; do
		[[ ${#line} -le 80 ]] || fail "${#line} columns: $line"
	done <<<"$out"
}

x() { # COUNT: that many of them
	local spaces
	printf -v spaces %"$1"s ''
	echo "${spaces// /x}"
}

make_bench() { # NAME [OPTION...]
	bm create "$@"
	did "$1"
}

init_of() { # BENCH: its pid
	bm show "$1" --format json
	key pid
}

# Into $daemon: the gatekeeperd that is nobody's helper. Fails if there is none, or a second.
daemon_pid() {
	local path comm stat of
	local -A parent=()
	daemon=
	for path in /proc/[0-9]*; do
		{ read -r comm <"$path/comm" && read -r stat <"$path/stat"; } 2>/dev/null || continue
		[[ $comm == gatekeeperd && $stat =~ \)\ [^Z]\ ([0-9]+)\  ]] || continue
		parent[${path#/proc/}]=${BASH_REMATCH[1]}
	done
	for of in "${!parent[@]}"; do
		[[ -z ${parent[${parent[$of]}]-} ]] || continue
		[[ -z $daemon ]] || return 1
		daemon=$of
	done
	[[ -n $daemon ]]
}

stop_daemon() { # [SIGNAL]
	daemon_pid || fail 'not exactly one gatekeeperd'
	kill "-${1-TERM}" "$daemon"
	soon gone "$daemon"
}
