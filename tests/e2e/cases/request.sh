# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Asking and confirming are apart: who asks, what an operator is shown, and what becomes of it.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${bin:?}" "${server:?}"

setup() {
	mkdir -p "$disk/src"
	echo hello >"$disk/src/file"
	settings '{"agents":"nogroup","max_requests_each":3}'
	make_bench e1
	# Its mounts are those of the daemon that has made it; the cases come with others.
	stop_daemon
	py service up --config "$tmp/settings"
}

teardown() {
	bm destroy e1
	did
	stop_daemon
	bm ls
	did
	rm -r "$disk/src"
	rm -f "$tmp"/{service.log,notify,settings,asked,swap}
}

settings() { # JSON
	rm -f "$tmp/settings"
	printf '%s\n' "$1" >"$tmp/settings"
}

with() { # JSON COMMAND...: with these settings instead, and then as before
	settings "$1"
	stop_daemon
	py service up --config "$tmp/settings"
	"${@:2}"
	settings '{"agents":"nogroup","max_requests_each":3}'
	stop_daemon
	py service up --config "$tmp/settings"
}

agent() { # ARGUMENT...: of the group that may only ask
	capture setpriv --reuid 65533 --regid 65533 --groups 65534 "$bin/benchmon" "$@" </dev/null
}

asked() { # its number, from what was printed
	[[ $out =~ ^([a-z0-9/]+)\ awaits\ an\ operator ]] || fail 'it awaits nobody'
	id=${BASH_REMATCH[1]}
}

# In the background, until somebody decides: its lines go to $tmp/asked.
waits() { # COMMAND...
	rm -f "$tmp/asked"
	"$@" --wait >"$tmp/asked" 2>&1 </dev/null &
	waiter=$!
	soon grep -qs awaits "$tmp/asked"
	slurp "$tmp/asked" out
	asked
}

told() { # CODE WORDS...: what it has waited for
	local status=0
	wait "$waiter" || status=$?
	same "$1" "$status" 'the exit code of who waited'
	slurp "$tmp/asked" out
	printed "${@:2}"
}

none_pending() {
	bm pending
	did 'nothing awaits a decision'
}

recorded() { # EVENT: of the request that was asked for last
	local line
	bm ledger show --format json
	while IFS= read -r line; do
		[[ $line == *"\"event\":\"$1\""* && ${line//\\/} == *"\"request\":\"$id\""* ]] && return
	done <<<"$out"
	fail "no $1 of $id in the ledger"
}

case_confirmed() {
	bm request e1 file "$disk/src:/in/asked" --for 1h --why 'to build it'
	did 'awaits an operator, until '
	asked
	bm exec e1 -- cat /in/asked/file
	ended 1
	# Again it is the same one.
	bm request e1 file "$disk/src:/in/asked" --for 1h --why 'another reason'
	did "$id awaits"
	bm pending
	did "$id " 'file ro for 3600 s, asked by uid 0' "asked for \"$disk/src\"" 'they say  "to build it"'
	[[ $out != *another* ]] || fail 'the same twice'
	narrow
	bm pending --format names
	did "$id"
	bm confirm
	did "$id "
	bm confirm "$id"
	refused 125 'there is no terminal to ask on (rule: confirmation)'
	python terminal n benchmon confirm "$id"
	ended 1
	printed "path      $disk/src" 'directory, mode 0755, owned by root:root' "asked     $id, by uid 0" \
		'they say  "to build it"' 'benchmon: not granted'
	# No is not yet a no to whoever asks.
	py terminal y benchmon confirm "$id"
	printed 'granted: ' "$disk/src as /in/asked, ro"
	bm exec e1 -- cat /in/asked/file
	did hello
	bm show e1 --format json
	did "\"request\":\"$id\"" '"expires":"'
	recorded requested
	recorded confirmed
	none_pending
	bm confirm "$id" --yes
	refused 125 "no request $id awaits a decision (rule: request); see \`benchmon pending\`"
	bm revoke e1 --all
	did revoked
	bm exec e1 -- rmdir /in
}

case_network() {
	bm request e1 net "$server:8080"
	asked
	bm confirm "$id" --yes
	did "to        $server:8080/tcp" 'granted: '
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8080"
	ended 0
	bm request e1 listen 8099
	asked
	bm confirm "$id" --yes
	did 'port      8099/tcp'
	bm revoke e1 --all
	did revoked
	bm request e1 net example
	asked
	bm confirm "$id" --yes
	refused 125
	bm reject "$id"
	did "$id rejected"
	local nonsense
	for nonsense in 'net a b' 'net -' 'listen 0' 'listen x' 'listen 70000'; do
		# shellcheck disable=SC2086
		bm request e1 ${nonsense%% *} "${nonsense#* }"
		refused 125
	done
	bm request e1 disk x
	refused 2 "request: no kind 'disk', the kinds are file, net, listen and broker"
	bm request e1 broker X
	refused 125 'that is no name for a broker (rule: broker)'
	bm request e1 broker x
	asked
	bm confirm "$id" --secret --yes
	refused 2 'confirm: --secret is not for broker, which takes NAME, --upstream, --limit'
	bm confirm "$id" --yes
	refused 125 'there is no broker "x"'
	bm reject "$id"
	did "$id rejected"
	none_pending
}

# Who only asks: gets a Bench and what is granted to that, and nothing of anybody else's.
case_agent() {
	local op
	agent ls
	did 'no Benches'
	for op in 'show e1' 'destroy e1' 'exec e1 -- true' 'request e1 net 10.0.0.1:80'; do
		# shellcheck disable=SC2086
		agent $op
		refused 125 'there is no Bench "e1"'
	done
	for op in 'reject r1' "create --rootfs $BENCHMON_ROOTFS" 'freeze e1' 'ledger show' 'receipt' 'profile ls' \
		'revoke e1/1' "grant e1 file $disk/src --yes"; do
		# shellcheck disable=SC2086
		agent $op
		ended 125
		[[ $err == *'an agent, and no operator (rule: operator)'* ]] || fail "$op: not refused"
	done
	waits setpriv --reuid 65533 --regid 65533 --groups 65534 "$bin/benchmon" request bench \
		--rootfs "$BENCHMON_ROOTFS" --name mine --why 'to work in it'
	agent pending
	did "$id " 'called    "mine"'
	agent confirm "$id" --yes
	refused 125 'who asks does not confirm (rule: operator)'
	python terminal y benchmon confirm "$id" --memory 512M
	ended 0
	printed 'a Bench, mine:' "path      $BENCHMON_ROOTFS" "asked     $id, by uid 65533" \
		'Make this Bench? [y/N]'
	told 0 "$id confirmed: mine"
	recorded confirmed
	agent ls --format names
	did mine
	agent show mine
	did 'state      ready' 'memory'
	agent exec mine -- sh -c 'echo in >/work/x; cat /work/x'
	did in
	agent grant mine file /etc --yes
	refused 125 'uid 65533 is an agent, and no operator (rule: operator)'
	waits setpriv --reuid 65533 --regid 65533 --groups 65534 "$bin/benchmon" request mine file \
		"$disk/src"
	same mine/r1 "$id" 'the first request of a Bench'
	bm confirm "$id" --yes
	did "path      $disk/src" "mine/1 granted: $disk/src"
	told 0 "$id confirmed: mine/1"
	agent exec mine -- cat /in/src/file
	did hello
	# A restart changes nothing of that.
	stop_daemon KILL
	py service up --config "$tmp/settings"
	agent show mine
	did mine/1
	agent show e1
	refused 125 'there is no Bench "e1"'
	agent destroy mine
	did
	bm show e1
	did 'state      ready'
	# Who is in neither group is nobody.
	capture setpriv --reuid 65532 --regid 65532 --clear-groups "$bin/benchmon" request bench --rootfs /
	refused 125 'you may not talk to gatekeeperd (rule: socket)'
}

case_rejected() {
	waits benchmon request e1 file "$disk/src:/x:rw"
	bm reject "$id" --why 'ask for less'
	did "$id rejected"
	told 1 "$id rejected" 'they say  "ask for less"'
	recorded rejected
	none_pending
	bm exec e1 -- ls /x
	ended 2
}

# What a confirmation was shown is what it confirms, or nothing.
case_swapped() {
	mkdir -p "$disk/a/dir"
	waits benchmon request e1 file "$disk/a/dir"
	echo "mv '$disk/a/dir' '$disk/a/old'; ln -s /etc '$disk/a/dir'" >"$tmp/swap"
	python terminal "$tmp/swap:y" benchmon confirm "$id"
	ended 125
	printed "path      $disk/a/dir" 'the object has changed since it was shown (rule: confirmation)'
	told 1 "$id void" 'changed since it was shown'
	recorded void
	none_pending
	# Before it is shown: a link is nothing that is granted.
	bm request e1 file "$disk/a/dir"
	asked
	bm confirm "$id" --yes
	refused 125 'is a symbolic link (rule: pinned-object)'
	# And who removes what was shown gets nothing, either.
	rm "$disk/a/dir"
	mkdir "$disk/a/dir"
	echo "rmdir '$disk/a/dir'" >"$tmp/swap"
	python terminal "$tmp/swap:y" benchmon confirm "$id"
	ended 125
	printed 'the object has been deleted'
	none_pending
	# A decision that came first.
	bm request e1 file "$disk/src"
	asked
	echo "$bin/benchmon reject $id >/dev/null" >"$tmp/swap"
	python terminal "$tmp/swap:y" benchmon confirm "$id"
	ended 125
	printed 'the request awaits no decision any more (rule: request)'
	bm show e1 --format json
	did '"grants":[]'
	rm -r "$disk/a"
}

case_expired() {
	with '{"request_seconds":5}' expires
}

expires() {
	waits benchmon request e1 file "$disk/src"
	told 1 "$id expired"
	recorded expired
	none_pending
}

# Who asks cannot write what looks like something else.
case_misleading() {
	local name=$'\u202eexe.gpj \e[2Jx\u2066' why='ok'
	why+=$(printf '%80s' '')
	mkdir "$disk/$name"
	echo odd >"$disk/$name/file"
	bm request e1 file "$disk/$name:/in/odd" --why "$why"$'path\n  path      /safe\u202e'
	asked
	for format in text json; do
		bm pending --format $format
		did '\u202eexe.gpj'
		[[ $out != *$'\u202e'* && $out != *$'\e'* && $out != *$'\u2066'* ]] || fail 'raw in '$format
	done
	bm confirm "$id" --yes
	did '\u202eexe.gpj \x1b[2Jx\u2066'
	[[ $out != *$'\u202e'* && $out != *$'\e'* ]] || fail 'raw'
	[[ $out != *$'\n  path      /safe'* ]] || fail 'a line of theirs'
	bm exec e1 -- cat /in/odd/file
	did odd
	bm revoke e1 --all
	did revoked
	bm exec e1 -- rmdir /in
	rm -r "${disk:?}/$name"
}

# What nobody decided is there after a crash; what its Bench was asked for ends with that.
case_restarted() {
	make_bench e2
	bm request e2 file "$disk/src"
	asked
	same e2/r1 "$id"
	stop_daemon KILL
	py service up --config "$tmp/settings"
	bm pending
	did e2/r1
	bm reject e2/r1
	did
	waits benchmon request e2 file "$disk/src"
	same e2/r2 "$id" 'a number that was used'
	bm destroy e2
	did
	told 1 "$id void" 'the Bench has ended'
	none_pending
}

# Neither who asks much, nor who asks often, comes far; and of what is refused nothing is written.
case_flood() {
	local i lines
	for i in 1 2 3; do
		bm request e1 file "$disk/src:/in/$i"
		did
	done
	bm request e1 file "$disk/src:/in/4"
	refused 125 '3 requests for this Bench are pending already (rule: request-limit)'
	lines=$(wc -l </var/lib/benchmon/ledger.jsonl)
	for i in 5 6 7; do
		bm request e1 file "$disk/src:/in/$i"
		ended 125
	done
	same "$lines" "$(wc -l </var/lib/benchmon/ledger.jsonl)" 'the ledger'
	bm request e1 file "/$(x 1100)"
	refused 125 'what is asked for is longer than 1023 bytes (rule: request-limit)'
	bm request e1 file "$disk/src" --why "$(x 300)"
	refused 125 'the reason is longer than 256 bytes (rule: request-limit)'
	for i in $(seq 20); do
		bm pending --format names
		for id in $out; do
			bm reject "$id"
		done
		bm request e1 file "$disk/src:/in/$((i + 10))"
		[[ $code -eq 0 ]] || break
	done
	refused 125 'too many requests in too short a time (rule: request-rate); wait half a minute'
	# They are in nobody's way.
	bm ls
	did e1
	bm pending --format names
	for id in $out; do
		bm reject "$id"
	done
	none_pending
}
