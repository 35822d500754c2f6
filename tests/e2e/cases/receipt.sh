# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# What is told of a Bench when it has ended, by whom, and whether that can be believed.
: "${e2e:?}" "${tmp:?}" "${disk:?}"

# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"

receipts=/var/lib/benchmon/receipts

setup() {
	mkdir -p "$disk/src" "$disk/out" /sys/fs/cgroup/e2e
	echo hello >"$disk/src/file"
	echo old >"$disk/out/old"
	# Before the grant by more than any clock of a file system is late.
	touch -d '1 hour ago' "$disk/out/old"
}

teardown() {
	rmdir /sys/fs/cgroup/e2e
	rm -r "$disk/src" "$disk/out"
}

granted() { # BENCH
	make_bench "$1"
	bm grant "$1" file "$disk/src" --yes
	did
	bm grant "$1" file "$disk/out:rw" --yes
	did
}

inside() { # BENCH SCRIPT
	bm exec "$1" -- sh -c "$2"
}

# Its path and its text, from what destroy or detach printed.
told() {
	[[ $out =~ receipt:\ ("$receipts"/[^$'\n']*) ]] || fail 'no word of a receipt'
	receipt=${BASH_REMATCH[1]}
	slurp "$receipt" whole
}

asked() { # JQ-FILTER WANTED: of the receipt
	same "$2" "$(jq -rc "$1" "$receipt")" "$1"
}

case_told() {
	local sum
	granted e1
	inside e1 'cd /out/out && echo abc >abc && mkdir -p a/b && echo deep >a/b/deep &&
		ln -s /etc/passwd link && mkfifo fifo && truncate -s 1T huge && : >empty'
	did
	inside e1 'printf x >"/out/out/$(printf "odd\\033[31m\\nname")"'
	did
	inside e1 'cp /bin/true /in/src/; /in/src/file; echo x >/in/src/file'
	[[ $code -ne 0 ]] || fail 'it may write to what is ro'
	bm revoke e1/1
	did
	bm destroy e1
	did 'e1 destroyed, denied in it: ' "kept: $disk/out" "written to $disk/out: 5 files" \
		'1.0 TiB  huge' 'not hashed: too large' 'odd\x1b[31m\x0aname' \
		'there may be more: looking stopped at the bounds of bytes'
	[[ $out != *old* ]] || fail 'it tells of what was there before'
	narrow
	told
	same 600 "$(stat -c %a "$receipt")"
	same 700 "$(stat -c %a "$receipts")"
	asked '.schema, .bench.name, .bench.origin, .bench.end, .bench.reason, .bench.by' \
		$'benchmon-receipt/1\ne1\ncreated\ndestroy\nasked\n0'
	asked '.grants[] | [.id, .rights, .reason, .confirmed.how, .confirmed.uid]' \
		$'["e1/1","ro","revoked","yes",0]\n["e1/2","rw","ended","yes",0]'
	asked .executions 3
	asked '.denials | .total > 0 and .total == ([.hooks[]] | add) and (.first | length) > 0 and
		.lost == 0' true
	asked '[.outputs[].files[].path]' '["a/b/deep","abc","empty","huge","odd\\x1b[31m\\x0aname"]'
	sum=$(sha256sum "$disk/out/abc")
	asked '.outputs[].files[] | select(.path == "abc") | .sha256' "${sum%% *}"
	asked '.outputs[] | [.links, .special]' '[1,1]'
	# The ledger names it by what b2sum says of the file.
	sum=$(b2sum -l 256 "$receipt")
	same "$sum" "$(jq -r 'select(.event == "destroy" and .receipt) |
		"\(.receipt_digest)  '"$receipts"'/\(.receipt)"' /var/lib/benchmon/ledger.jsonl | tail -n 1)"
	bm receipt e1
	did 'bench      e1, number ' 'created' 'ended' ', asked by uid 0' 'executed   3' 'denied     ' \
		'signature  good' 'the ledger has that line, and names this receipt' \
		"e1/2    file  rw  $disk/out" '-> /out/out' 'confirmed by uid 0 (yes)'
	narrow
	bm receipt
	did 'BENCH ' ' NUMBER ' 'e1 '
	narrow
	bm receipt --format names
	printed "$(basename "$receipt" .json)"
	bm receipt e1 --format json
	did '"signature":{"ok":true}' '"ledger":{"ok":true}' '"schema":"benchmon-receipt/1"'
	printf '%s\n' "$out" >"$tmp/json"
	py jsonlines "$tmp/json"
	rm -r "$tmp/json" "$disk"/out/{abc,a,link,fifo,huge,empty,odd*}
}

case_again() {
	make_bench e1
	bm destroy e1
	did 'e1 destroyed, denied in it: 0'
	told
	bm destroy e1
	did "e1 was destroyed at $(jq -r .bench.ended "$receipt" | cut -c 1-19)Z" "receipt: $receipt"
	# That it was detached is not so, and nobody of that name there was.
	bm detach e1
	refused 125 'there is no Bench "e1"'
	bm destroy nobody
	refused 125 'there is no Bench "nobody"'
	# One of the same name that lives is what is meant.
	make_bench e1
	bm destroy e1
	did 'e1 destroyed'
	[[ $out != *"$receipt"* ]] || fail 'two Benches have one receipt'
}

case_altered() {
	make_bench e1
	bm destroy e1
	did
	told
	sed -i 's/"executions":0/"executions":1/' "$receipt"
	bm receipt e1
	ended 125
	[[ $out == *'signature  the receipt is not as it was signed'* &&
		$err == 'benchmon: the receipt is not as it was signed (rule: receipt)'* ]] ||
		fail 'it believes what was altered'
	# What can't be believed says nothing of its end either.
	bm destroy e1
	refused 125 'there is no Bench "e1"'
	# As it was it is believed again.
	printf '%s\n' "$whole" >"$receipt"
	bm receipt e1
	did 'signature  good' 'names this receipt'
	chmod 666 "$receipt"
	bm receipt e1
	refused 125 "no file of root's that others can't write"
	chmod 600 "$receipt"
}

case_detached() {
	local before
	running c1 plain
	bm attach a1 c1
	did
	mkdir "$disk/vol2"
	bm grant a1 file "$disk/vol2:/out:rw" --yes
	did
	bm exec a1 -- /busybox sh -c 'echo abc >/out/abc'
	did
	bm detach a1
	did 'a1 detached, grants revoked: 1; nothing is enforced on it any more' \
		"written to $disk/vol2: 1 file"
	narrow
	told
	asked '.bench.origin, .bench.end, .bench.container' $'attached\ndetach\nc1'
	# It was frozen only for that.
	in_container c1 /busybox echo alive
	did alive
	bm detach a1
	did 'a1 was detached at '
	removed c1
	rm -r "$disk/vol2" "$disk/vol"
}

# Frozen to be looked at, and the daemon dies: it goes on, and is a Bench as before.
case_detached_by_half() {
	local signal
	running c1 plain
	mkdir "$disk/vol2"
	bm attach a1 c1
	did
	bm grant a1 file "$disk/vol2:/out:rw" --yes
	did
	truncate -s 3900M "$disk/vol2/zeros"
	for signal in KILL TERM; do
		benchmon detach a1 </dev/null >"$tmp/detached" 2>&1 &
		soon is_ending a1
		bm freeze a1
		refused 125 'Bench a1 is being ended'
		same 1 "$(<"/sys/fs/cgroup/e2e/c1/cgroup.freeze")" 'whether it is frozen'
		stop_daemon "$signal"
		wait $! || :
		bm ls
		did 'a1    ready  attached       1'
		same 0 "$(<"/sys/fs/cgroup/e2e/c1/cgroup.freeze")" 'whether it is frozen'
		bm exec a1 -- /busybox ls /out
		did zeros
	done
	rm "$disk/vol2/zeros"
	bm detach a1
	did "written to $disk/vol2: nothing"
	removed c1
	rm -r "$disk/vol2" "$disk/vol" "$tmp/detached"
}

# Somebody's directory that is granted is looked at with no more than its owner's rights.
case_as_its_owner() {
	mkdir -m 700 "$disk/theirs"
	echo secret >"$disk/theirs/roots"
	chmod 600 "$disk/theirs/roots"
	chown 12345:12345 "$disk/theirs"
	make_bench e1
	bm grant e1 file "$disk/theirs:/out:rw" --yes
	did
	inside e1 'echo abc >/out/mine'
	did
	# By another of the host, meanwhile.
	echo more >>"$disk/theirs/roots"
	bm destroy e1
	did "written to $disk/theirs: 2 files" 'not hashed: Permission denied'
	told
	same 12345 "$(stat -c %u "$disk/theirs/mine")"
	asked '.outputs[].files[] | [.path, .why]' $'["mine",null]\n["roots","Permission denied"]'
	rm -r "$disk/theirs"
}

is_ending() { # BENCH: asked by what does nothing else
	bm thaw "$1"
	[[ $err == *"Bench $1 is being ended"* ]]
}

has_receipt() { # WORDS: the last one of e1
	bm receipt e1 --format json
	[[ $out == *"$1"* ]]
}

# While one is looked at, the others go on.
full_case_nobody_waits() {
	local pid
	granted e1
	make_bench e2
	inside e1 'for i in 1 2 3 4; do truncate -s 1000M /out/out/zeros$i || exit; done'
	did
	benchmon destroy e1 </dev/null >"$tmp/destroyed" 2>&1 &
	pid=$!
	soon is_ending e1
	bm destroy e1
	refused 125 'Bench e1 is being ended; wait for it'
	bm exec e2 -- echo works
	did works
	# Nor does it need who asked for it.
	kill $pid
	wait $pid || :
	soon has_receipt zeros
	bm ls --format names
	same e2 "$out"
	bm destroy e2
	did
	rm "$disk"/out/zeros* "$tmp/destroyed"
}

# With no room for it a Bench ends all the same.
case_no_room() {
	mkdir -p "$receipts"
	mount -t tmpfs -o size=4k e2e "$receipts"
	head -c 4096 /dev/zero >"$receipts/full"
	granted e1
	inside e1 'echo abc >/out/out/abc'
	did
	bm destroy e1
	ended 0
	printed 'e1 destroyed'
	[[ $err == 'benchmon: warning: there is no receipt of it: '*'No space left on device'* ]] ||
		fail 'no word of there being no receipt'
	[[ $(tail -n 1 /var/lib/benchmon/ledger.jsonl) == *'"event":"destroy"'*'"receipt_failed":"'* ]] ||
		fail 'nor in the ledger'
	umount "$receipts"
	rm "$disk/out/abc"
	bm ls
	did 'no Benches'
}

# The daemon is not there when it ends: what can be told still is, and what can't is said.
case_lost() {
	granted e1
	inside e1 'echo abc >/out/out/abc; /in/src/file'
	bm revoke e1/1
	did
	init_of e1
	stop_daemon KILL
	kill -KILL "$value"
	soon gone "$value"
	bm ls
	did 'no Benches'
	bm receipt e1 --format json
	did '"reason":"its container has gone"' 'nobody was there to do it'
	receipt=$receipts/$(jq -r .file "$tmp/out")
	asked '.grants[] | [.id, .reason]' $'["e1/1","revoked"]\n["e1/2","ended"]'
	asked .executions 1
	asked '.denials.total > 0' true
	rm "$disk/out/abc"
}

# A new file of the ledger says again what was over; and where to look for what came before.
case_rotated() {
	local head
	granted e1
	bm revoke e1/1
	did
	inside e1 'echo abc >/out/out/abc'
	did
	make_bench e2
	bm destroy e2
	did
	bm ledger rotate
	did
	bm receipt e2
	did 'signature  good' 'is in an earlier file of the ledger' 'benchmon ledger verify --head'
	[[ $out =~ (--head [0-9]+:[0-9a-f]{64}) ]] || fail 'no head to look for'
	head=${BASH_REMATCH[1]}
	stop_daemon KILL
	# shellcheck disable=SC2086
	bm ledger verify $head
	did
	bm destroy e1
	did "written to $disk/out: 1 file"
	told
	asked .executions 1
	asked '[.grants[].id]' '["e1/1","e1/2"]'
	asked .grants_left_out null
	bm receipt e1
	did 'names this receipt'
	rm /var/lib/benchmon/ledger-[0-9]*.jsonl
	rm "$disk/out/abc"
}

case_run() {
	bm run --format json --out "$disk/out" --yes -- sh -c 'echo abc >/out/out/abc'
	ended 0
	[[ $err == *'"receipt":{"file":"'"$receipts"/b1-*'"path":"abc"'* ]] || fail 'no word of the receipt'
	bm run --out "$disk/out" --yes -- true
	ended 0
	[[ $out != *receipt* && $err != *receipt* ]] || fail 'too many words'
	rm "$disk/out/abc"
}
