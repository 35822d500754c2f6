# shellcheck shell=bash disable=SC2034,SC2154
# The record of all decisions: what it shows, what is found of who changes it, what a full disk stops.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${server:?}"

state=/var/lib/benchmon
record=$state/ledger.jsonl

setup() {
	mkdir -p "$disk/src" "$disk/out"
	echo hello >"$disk/src/file"
}

teardown() {
	rm -r "$disk/src" "$disk/out"
}

whole() { # WORDS...: it verifies, and says so
	bm ledger verify
	did 'the ledger is whole' "$@"
	narrow
}

broken() { # WORDS...: in one line, and the exit code is one of its own
	bm ledger verify
	refused 1 "$@"
}

copied() { # DIR: the files of the ledger, as they are
	mkdir -p "$1"
	cp -a "$state"/ledger* "$1"
}

put_back() { # DIR
	rm -f "$state"/ledger*
	cp -a "$1"/ledger* "$state"
}

no_daemon() {
	! daemon_pid
}

case_shown() {
	local odd=$'\e[31mred' first key head
	make_bench l1
	mkdir "$disk/$odd"
	bm grant l1 file "$disk/$odd:/in/odd" --yes
	did 'l1/1 granted'
	bm grant l1 net "$server:8080" --for 1h --yes
	did 'l1/2 granted'
	bm exec l1 -- true
	did
	bm revoke l1/1
	did
	rmdir "$disk/$odd"
	bm ledger show --bench l1
	did 'l1 create' 'l1 grant l1/1 ro' '\x1b[31mred' 'at' '/in/odd' \
		"l1 grant l1/2 $server:8080/tcp" 'l1 revoke' 'l1 exec'
	[[ $out != *$'\e'* ]] || fail 'an escape reached the terminal'
	narrow
	bm ledger show --bench l1 --format json
	did '"event":"grant"' '"event":"revoke"'
	[[ $out != *'"event":"begin"'* ]] || fail 'it is not of that Bench alone'
	out=${out##*$'\n'}
	key n
	bm ledger show --since $((value - 1)) --format json
	did "\"n\":$value,"
	same 1 "$(wc -l <<<"$out")" 'the number of lines behind it'
	bm ledger show --since "$value"
	did
	same '' "$out" 'what is behind the end'
	bm ledger show --bench no_name
	ended 2
	bm ledger look
	refused 2 "there are show, verify and rotate"
	bm ledger show --key x
	ended 2

	whole 'kernel   has the same' "  head     $value:" 'files    ledger'
	bm ledger verify --format json
	did '"whole":true' '"kernel":"agrees"' '"unsigned":0'
	key key
	key=$value
	# Each line's place is in the log, too, and one who has a copy needs no rights to check it.
	head=$(sed -n 's/.*ledger head //p' /var/log/benchmon/*.log | tail -n 2 | head -n 1)
	copied "$tmp/copy"
	chmod 755 "$tmp/copy"
	chmod 644 "$tmp/copy"/ledger*
	rm "$tmp/copy/ledger.key"
	first=$(command -v benchmon)
	capture setpriv --reuid 65534 --clear-groups --regid 65534 "$first" ledger verify \
		--dir "$tmp/copy" --head "$head" --key "$key" </dev/null
	did 'the ledger is whole' 'is in it' "$key"
	bm ledger verify --dir "$tmp/copy" --head "${head%:*}:${key}"
	refused 1 'is not the line that was written, by the head that was given'
	bm ledger verify --dir "$tmp/copy" --head "999999:$key"
	refused 1 truncated 'number 999999 was written, by the head that was given'
	bm ledger verify --dir "$tmp/copy" --head "${head%?}"
	refused 2 'is no head of a ledger'
	bm ledger verify --dir "$tmp/copy" --key "${key//[0-9]/0}"
	refused 1 'is signed with key'
	bm ledger verify --dir "$tmp/none"
	refused 125 'No such file'
	rm -r "$tmp/copy"
	bm destroy l1
	did
}

case_changed() {
	local total
	make_bench l1
	bm grant l1 file "$disk/src" --yes
	did 'l1/1 granted'
	stop_daemon
	copied "$tmp/copy"
	total=$(wc -l <"$record")
	sed -i "$((total - 1))s/\"bench\":\"l1\"/\"bench\":\"l2\"/" "$record"
	broken "ledger.jsonl line $((total - 1)) changed" 'ledger-changed'
	bm ledger verify --format json
	[[ $code -eq 1 && $out == *'"whole":false,"break":{"file":"ledger.jsonl","line":'* ]] ||
		fail 'not as JSON'
	bm ls
	refused 125 "line $((total - 1)) changed" 'gatekeeperd --accept-ledger'
	soon no_daemon
	[[ -e /sys/fs/bpf/benchmon/benches ]] || fail 'the walls are gone'
	put_back "$tmp/copy"
	sed -i "$((total - 1))d" "$record"
	broken "line $((total - 1)) removed"
	put_back "$tmp/copy"
	sed -i "$((total - 1)){h;d};$total{G}" "$record"
	broken "line $((total - 1)) reordered"
	put_back "$tmp/copy"
	sed -i "$((total - 1)){p}" "$record"
	broken "line $total inserted"
	put_back "$tmp/copy"
	truncate -s -20 "$record"
	broken "line $total truncated"
	bm ls
	refused 125 'truncated'
	put_back "$tmp/copy"
	whole
	bm exec l1 -- cat /in/src/file
	did hello
	bm destroy l1
	did
	rm -r "$tmp/copy"
}

# All of the directory as it was before a decision: only the kernel knows better.
case_truncated() {
	make_bench l1
	bm grant l1 file "$disk/src" --yes
	did 'l1/1 granted'
	copied "$tmp/copy"
	bm grant l1 file "$disk/out:/out:rw" --yes
	did 'l1/2 granted'
	stop_daemon
	put_back "$tmp/copy"
	broken truncated 'by the head in the kernel'
	bm ls
	refused 125 truncated 'by the head in the kernel' 'gatekeeperd --accept-ledger'
	soon no_daemon
	capture gatekeeperd --accept-ledger </dev/null
	did truncated 'would keep' '--force does it'
	broken truncated
	capture gatekeeperd --accept-ledger --force </dev/null
	did truncated 'kept: the first' 'saved: all of it'
	capture gatekeeperd --accept-ledger --force </dev/null
	[[ $code -eq 125 && $err == *'nothing is wrong with the ledger'* ]] || fail 'accepted twice'
	whole 'accepted up to number'
	# What the lost line granted is gone, and the rest is not.
	bm exec l1 -- cat /in/src/file
	did hello
	bm exec l1 -- sh -c 'echo >/out/new'
	[[ $code -ne 0 ]] || fail 'what no line grants is still there'
	py ledger
	same l1 "$out"
	bm ledger show
	did 'accepted why'
	bm destroy l1
	did
	rm -r "$tmp/copy" "$state"/ledger.refused-*
}

the_one_before() { # into $value: other topics have rotated it, too
	[[ $out =~ (ledger-[0-9]+\.jsonl) ]] || fail 'it does not say what the one before is called'
	value=${BASH_REMATCH[1]}
}

case_rotated() {
	local old first second number
	make_bench l1
	bm grant l1 file "$disk/src" --except file:ro --yes
	did 'l1/1 granted'
	bm grant l1 file "$disk/out:/out:rw" --for 1h --yes
	did 'l1/2 granted'
	bm grant l1 net "$server:8080" --yes
	did 'l1/3 granted'
	bm grant l1 net "$server:8081" --yes
	bm revoke l1/4
	did
	bm show l1 --format json
	old=${out/\"denied\":*/}
	bm ledger rotate
	did 'of the ledger begins; the one before is ledger-'
	the_one_before
	first=$value
	whole 'kernel   has the same' "$first"
	same 1 "$(grep -c '"event":"begin"' "$record")"
	# From that file alone.
	stop_daemon KILL
	bm show l1 --format json
	same "$old" "${out/\"denied\":*/}" 'what is left of the Bench'
	bm exec l1 -- bash -c "cat /in/src/file; cat </dev/tcp/$server/8080"
	did hello 'hello from 8080'
	bm exec l1 -- bash -c "cat </dev/tcp/$server/8081"
	ended 1
	py ledger
	same l1 "$out"
	bm grant l1 net "$server:8081" --yes
	did 'l1/5 granted'
	bm revoke l1 --all
	did
	bm ledger rotate
	did
	the_one_before
	second=$value
	stop_daemon KILL
	bm show l1 --format json
	did '"grants":[]'
	gzip -c "$state/$first" >"$state/$first.gz"
	rm "$state/$first"
	whole "$first.gz, compressed" "$second"
	bm ledger show --bench l1
	did 'l1 grant l1/5' 'l1 revoke'
	rm "$state/$first.gz"
	whole 'not there'
	number=${first//[^0-9]/}
	[[ $out == *"$first, not there"* || $out == *"ledger-1.jsonl to $number, not there"* ]] ||
		fail 'it does not say which is not there'
	bm destroy l1
	did
	# What was over before is still told.
	bm receipt l1 --format json
	did '"id":"l1/1"' '"id":"l1/3"' '"id":"l1/4"' '"id":"l1/5"' '"executions":2'
	rm "$state/$second"
}

# What fits into the last block may still be granted; then nothing is, and it says so.
grants_end() { # BENCH FIRST-PORT
	local port
	for ((port = $2; port < $2 + 40; port++)); do
		bm grant "$1" net "$server:$port" --yes
		[[ $code -eq 0 ]] || break
	done
	[[ $code -eq 125 && $err == *'no room for this and for what will end'*'(rule: ledger-full)'* ]] ||
		fail 'a full disk grants'
	before=$(wc -l <"$record")
	bm show "$1"
	did
	[[ $out != *":$port/"* ]] || fail 'it is granted all the same'
	bm exec "$1" -- true
	[[ $code -eq 125 && $err == *'(rule: ledger-full)'* ]] || fail 'it executes without a record'
	same "$before" "$(wc -l <"$record")" 'the number of lines'
	py ledger
	same "$1" "$out"
}

fill() {
	head -c 1G /dev/zero >"$state/filler" 2>/dev/null || :
	head -c 1G /dev/zero >"$state/filler2" 2>/dev/null || :
}

# The record goes on below: the kernel has where it ended.
unmounted() {
	stop_daemon
	rm -f "$state/filler" "$state/filler2"
	rm -r "$tmp/copy"
	copied "$tmp/copy"
	umount "$state"
	put_back "$tmp/copy"
	rm -r "$tmp/copy" "$tmp/small"
}

case_full() {
	local n before
	stop_daemon
	copied "$tmp/copy"
	truncate -s 40M "$tmp/small"
	mkfs.ext4 -q -O ^has_journal "$tmp/small"
	mount -o loop "$tmp/small" "$state"
	trap unmounted EXIT
	put_back "$tmp/copy"
	make_bench l1
	for n in 1 2 3; do
		mkdir "$disk/src/$n"
		bm grant l1 file "$disk/src/$n:/in/$n" --yes
		did "l1/$n granted"
	done
	fill
	grants_end l1 9000
	bm revoke l1/1
	did 'l1/1 revoked'
	same $((before + 1)) "$(wc -l <"$record")" 'the number of lines'
	# Also by a daemon that comes up on a full disk.
	stop_daemon KILL
	bm show l1
	did /in/2 /in/3
	bm revoke l1/2
	did 'l1/2 revoked'
	grants_end l1 9100
	whole
	rm "$state/filler" "$state/filler2"
	bm grant l1 file "$disk/out" --yes
	did granted
	bm destroy l1
	did
	whole
	rmdir "$disk/src"/[123]
	trap - EXIT
	unmounted
	bm ls
	did 'no Benches'
}
