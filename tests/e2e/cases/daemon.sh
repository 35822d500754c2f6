# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# gatekeeperd comes and goes, and what it put up stays.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${server:?}"

# Of 500 rounds, in check-full.
[[ -z ${E2E_FULL-} ]] || patience=3600

setup() {
	mkdir -p "$disk/src" "$disk/rounds"
	echo hello >"$disk/src/file"
}

teardown() {
	rm -r "$disk/src" "$disk/rounds"
}

# A process in the Bench that does what it is told when nobody can exec there; "done" ends an answer.
agent_up() { # BENCH
	# shellcheck disable=SC2016
	bm exec "$1" -- sh -c 'mkfifo /work/ask /work/answer; setsid setsid bash -c "
		exec 3<>/work/ask 4<>/work/answer
		while read -r command <&3; do eval \"\$command\" >&4 2>&1 3>&- 4>&-; echo done >&4
		done" </dev/null >/dev/null 2>&1 &'
	did
	init_of "$1"
	exec {to}<>"/proc/$value/root/work/ask" {from}<>"/proc/$value/root/work/answer"
}

agent() { # COMMAND: leaves its output in $out
	local line
	echo "$1" >&"$to"
	out=
	while line_from "$from" line && [[ $line != 'done' ]]; do
		out+=$line$'\n'
	done
	last="agent: $1"
}

agent_down() {
	exec {to}>&- {from}>&-
}

enforced() { # what is granted works, what is not does not
	agent 'cat /in/src/file'
	printed hello
	agent "cat </dev/tcp/$server/8080"
	printed 'hello from 8080'
	agent "cat </dev/tcp/$server/8081"
	printed 'Operation not permitted'
	agent 'cp /bin/true /in/src/; /in/src/file'
	printed 'Read-only file system' 'Permission denied'
}

granted_bench() { # NAME
	make_bench "$1"
	bm grant "$1" file "$disk/src" --yes
	did "$1/1 granted"
	bm grant "$1" net "$server:8080" --yes
	did "$1/2 granted"
}

case_started() {
	local old path
	daemon_pid
	old=$daemon
	stop_daemon
	[[ ! -e /run/benchmon/gatekeeperd.sock ]] || fail 'the socket is still there'
	bm version
	did 'gatekeeperd  not running'
	bm ls --format names
	did
	same '' "$out"
	no_daemon || fail 'Tab started a daemon'
	path=$(command -v benchmon)
	capture setpriv --reuid 65534 --clear-groups --regid 65534 "$path" ls </dev/null
	refused 125 'gatekeeperd is not running; run it as root, then it starts it'
	bm ls
	did 'no Benches; `benchmon help` says how to make one'
	daemon_pid || fail 'not exactly one gatekeeperd'
	[[ $daemon -ne $old ]] || fail 'it is the same'
	# Nothing of who started it: no terminal, no directory, no environment, no descriptors.
	same / "$(readlink "/proc/$daemon/cwd")" 'its directory'
	slurp /proc/"$daemon"/environ out 2>/dev/null
	[[ $out != *BENCHMON* && $out != *HOME=* ]] || fail 'it has the caller'\''s environment'
	same 0 "$(cut -d ' ' -f 7 "/proc/$daemon/stat")" 'its terminal'
	# A socket that nobody listens at any more.
	stop_daemon KILL
	[[ -e /run/benchmon/gatekeeperd.sock ]] || fail 'the socket is gone'
	bm ls
	did 'no Benches'
}

case_two_at_once() {
	local pids=() pid n
	stop_daemon
	for n in 1 2 3 4; do
		benchmon ls </dev/null >"$tmp/ls.$n" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || fail "one of them failed: $(cat "$tmp"/ls.*)"
	done
	daemon_pid || fail 'not exactly one gatekeeperd'
	rm "$tmp"/ls.*
	# Nor by hand.
	capture gatekeeperd </dev/null
	[[ $code -eq 1 && $err == *'(rule: '* ]] || fail 'a second one was not refused'
	daemon_pid || fail 'not exactly one gatekeeperd'
	bm ls
	did 'no Benches'
}

case_terminated() {
	local to from before
	granted_bench e1
	agent_up e1
	enforced
	bm show e1 --format json
	key denied
	before=$value
	stop_daemon
	enforced
	[[ -d /sys/class/net && -d /sys/fs/bpf/benchmon/benches ]] || fail 'the pins are gone'
	bm ls
	did 'e1    ready  created       2 '
	enforced
	bm show e1 --format json
	key denied
	# Two each time, of which some were denied when nobody listened.
	same $((before + 4)) "$value" 'the number of denials'
	# The log has them all, by number: what came while nobody listened waited in the kernel.
	out=$(sed -n 's/.*"bench":"e1","id":[0-9]*,"seq":\([0-9]*\),.*/\1/p' /var/log/benchmon/events.jsonl |
		awk '$1 == 1 { all = "" } { all = all $1 "\n" } END { printf "%s", all }')
	same "$(seq "$(grep -c . <<<"$out")")" "$out" 'the numbers of its events'
	# And by a crash, at rest.
	stop_daemon KILL
	enforced
	bm revoke e1/1
	did 'e1/1 revoked'
	agent 'cat /in/src/file'
	printed 'No such file'
	stop_daemon KILL
	agent 'cat /in/src/file'
	printed 'No such file'
	agent "cat </dev/tcp/$server/8080"
	printed 'hello from 8080'
	py ledger
	same e1 "$out"
	agent_down
	bm destroy e1
	did
}

# Who waits for something is told that it will not come; what runs goes on.
case_hung_up() {
	local to from events
	make_bench e1
	agent_up e1
	mkfifo "$tmp/said"
	benchmon events -f </dev/null >"$tmp/said" 2>"$tmp/events" &
	events=$!
	exec {fd}<"$tmp/said"
	agent "cat </dev/tcp/$server/8081"
	line_from "$fd" out
	[[ $out == *'e1#'* ]] || fail 'no event'
	stop_daemon KILL
	code=0
	wait "$events" || code=$?
	slurp "$tmp/events" err
	[[ $code -eq 125 && $err == *'gatekeeperd has ended; what is granted and denied stays as it was' ]] ||
		fail 'it does not say that the daemon has ended'
	agent 'echo still here'
	printed 'still here'
	agent_down
	bm destroy e1
	did
	rm "$tmp/said" "$tmp/events"
}

case_crashes() {
	local seed=${E2E_SEED:-${E2E_FULL:+$RANDOM}}
	py crash "${E2E_ROUNDS:-$((${E2E_FULL:+49}4 + 6))}" "$disk/rounds" "${seed:-1}"
	echo "took ${out%%$'\n'*}"
	rm -f /var/lib/benchmon/ledger-*.jsonl
	rm -r "$disk/rounds"
	mkdir "$disk/rounds"
}

no_daemon() {
	! daemon_pid
}

case_ledger() {
	py ledger
	same '' "$out" 'what there is by the ledger'
	same 600 "$(stat -c %a /var/lib/benchmon/ledger.jsonl)"
	# A daemon that finds another one's ledger in its place does not start.
	stop_daemon
	cp /var/lib/benchmon/ledger.jsonl "$tmp/ledger"
	trap 'cp "$tmp/ledger" /var/lib/benchmon/ledger.jsonl; rm "$tmp/ledger"' EXIT
	sed -i '2s/"event":"/"event":"x/' /var/lib/benchmon/ledger.jsonl
	bm ls
	[[ $code -eq 125 && $err == *'ledger'*' line 2'* ]] || fail 'a changed ledger was believed'
	soon no_daemon
	cp "$tmp/ledger" /var/lib/benchmon/ledger.jsonl
	bm ls
	did 'no Benches'
}

case_reopened() {
	local log=/var/log/benchmon/events.jsonl
	make_bench e1
	mv "$log" "$tmp/old"
	daemon_pid
	kill -HUP "$daemon"
	soon test -e "$log"
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8081"
	ended 1
	[[ $(<"$log") == *'"hook":"connect4"'* ]] || fail 'the denial is not in the new log'
	[[ $(<"$tmp/old") != *"$(tail -n 1 "$log")"* ]] || fail 'it is in the old one'
	py jsonlines "$log"
	bm destroy e1
	did
	rm "$tmp/old"
}

case_unload() {
	make_bench e1
	capture gatekeeperd --unload </dev/null
	same 1 "$code" 'the exit code'
	[[ $err == *'(rule: ledger-lock); stop the other gatekeeperd' ]] || fail 'no word of the daemon'
	stop_daemon
	capture gatekeeperd --unload </dev/null
	same 1 "$code" 'the exit code'
	[[ $err == *"there are Benches in the kernel's tables (rule: unload); destroy or detach them first" ]] ||
		fail 'no word of the Benches'
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8081"
	[[ $err == *'Operation not permitted'* ]] || fail 'nothing is enforced'
	bm destroy e1
	did
	stop_daemon
	capture gatekeeperd --unload </dev/null
	did
	[[ ! -e /sys/fs/bpf/benchmon ]] || fail 'pins are left'
	capture gatekeeperd --unload </dev/null
	did
	granted_bench e1
	bm exec e1 -- sh -c 'cp /bin/true /in/src; /in/src/file'
	[[ $err == *'Read-only file system'*'Permission denied'* ]] || fail 'nothing is enforced'
	bm destroy e1
	did
}

case_events() {
	local fd follower seq
	make_bench e1
	mkfifo "$tmp/said"
	env --default-signal=INT benchmon events -f --bench e1 --format json </dev/null \
		>"$tmp/said" 2>"$tmp/err" &
	follower=$!
	exec {fd}<"$tmp/said"
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8081"
	ended 1
	until [[ $out == *'"verdict":"deny"'* ]]; do
		line_from "$fd" out
	done
	printed '"bench":"e1"' '"hook":"connect4"' '"rule":"not-sealed"' '"errno":"EPERM"' \
		"\"destination\":\"$server:8081/tcp\"" "\"hint\":\"benchmon grant e1 net $server:8081\""
	key seq
	seq=$value
	kill -INT "$follower"
	wait "$follower" || same 0 $? 'the exit code of an interrupted events -f'
	exec {fd}<&-
	rm "$tmp/said"
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8082"
	ended 1
	bm events --bench e1 --since "$seq" --format json
	[[ $out != *8081* && $out == *"\"seq\":$((seq + 1)),"* && $out == *8082* ]] ||
		fail 'it does not go on behind that number'
	bm events --bench e1 --since 100000
	did
	same '' "$out"
	bm events
	did "DENY connect4 $server:8082/tcp by bash[" '(not-sealed)' \
		"allow with: benchmon grant e1 net $server:8082"
	bm events --since 3
	refused 2 'events: --since counts in one Bench: add --bench'
	bm events --bench e1 --since x
	refused 2 "--since: 'x' is not a number from 0"
	bm destroy e1
	did
}

# Its root stays read-only, and gets mount points from a daemon that did not mount it.
case_exec_image() {
	make_bench m1 --exec image
	mkdir "$disk/mode"
	echo hello >"$disk/mode/file"
	stop_daemon KILL
	bm show m1
	did 'exec       image' 'state      ready'
	grep -q '"event":"create".*"exec":"image".*"bench":"m1"' /var/lib/benchmon/ledger.jsonl ||
		fail 'the ledger does not have it'
	bm exec m1 -- sh -c ': >/proc/self/mem'
	ended 2
	bm exec m1 -- sh -c 'echo >/new'
	ended 2
	# The daemon that mounted its root is gone: mount points are made all the same.
	bm grant m1 file "$disk/mode:/later/src" --yes
	did granted
	bm exec m1 -- cat /later/src/file
	did hello
	bm revoke m1 --all
	did
	bm exec m1 -- ls /later
	did
	same '' "$out" 'what is left of the grant'
	bm destroy m1
	did
	rm -r "$disk/mode"
}

# When a grant ends outlives the daemon, and so does what meets it then.
case_expiry() {
	make_bench m1
	mkdir "$disk/ends"
	echo hello >"$disk/ends/file"
	echo hello >"$disk/soon"
	bm grant m1 file "$disk/ends:/in/ends" --for 1h --yes
	did granted
	bm grant m1 file "$disk/soon:/in/soon" --for 5s --yes
	did granted
	stop_daemon KILL
	[[ -e /sys/fs/bpf/benchmon/links/recall ]] || fail 'no hook of a recall is attached'
	bm show m1
	did '/in/ends' '  until '
	bm exec m1 -- cat /in/ends/file
	did hello
	soon eval 'bm show m1; [[ $out != */in/soon* ]]'
	bm revoke m1 --all
	did
	bm destroy m1
	did
	soon eval '[[ ! -e /sys/fs/bpf/benchmon/links/recall ]]'
	rm -r "$disk/ends" "$disk/soon"
}
