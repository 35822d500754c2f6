# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# What revoke says and does to who holds something, and grants that end by themselves.
: "${e2e:?}" "${tmp:?}" "${disk:?}"

setup() {
	mkdir -p "$disk/src"
	echo hello >"$disk/src/file"
	make_bench e1
}

teardown() {
	bm destroy e1
	did
	rm -r "$disk/src"
}

granted() { # OPTION...: the directory to e1; leaves its id in $id
	bm grant e1 file "$disk/src:/in/src" "$@" --yes
	did 'granted: '
	[[ $out =~ (e1/[0-9]+)\ granted ]] || fail 'it has no id'
	id=${BASH_REMATCH[1]}
}

no_hooks() {
	! compgen -G '/sys/fs/bpf/benchmon/links/recall*' >/dev/null
}

no_grant() {
	bm show e1
	[[ $out == *'grants     none'* ]]
}

# A shell in e1 that has the file open, and reads it again at each line it gets.
holder_up() {
	mkfifo "$tmp/lines"
	benchmon exec e1 -T -- bash -c 'exec 3</in/src/file; echo holding
		while read -r _; do cat <&3 || exit 3; done' <"$tmp/lines" >"$tmp/held" 2>&1 &
	holder=$!
	exec {lines}>"$tmp/lines"
	soon grep -q holding "$tmp/held"
}

holder_down() {
	exec {lines}>&-
	code=0
	wait "$holder" || code=$?
	rm "$tmp/lines" "$tmp/held"
}

case_tells_what_was_held() {
	granted
	holder_up
	bm revoke "$id"
	did "$id revoked" '  pid ' ' (bash) refused: fd 3'
	narrow
	echo >&"$lines"
	soon grep -q 'Permission denied' "$tmp/held"
	holder_down
	same 3 "$code" 'the exit code of who held it'
	soon no_hooks
	bm events --bench e1 --format json
	did '"hook":"getattr","rule":"revoked"'
}

case_in_json() {
	granted
	holder_up
	bm revoke "$id" --format json
	did "\"revoked\":[\"$id\"]" "\"found\":[{\"grant\":\"$id\"" '"what":"fd","fd":3' '"done":"refused"'
	cp "$tmp/out" "$tmp/json"
	py jsonlines "$tmp/json"
	rm "$tmp/json"
	[[ $(tail -n 1 /var/lib/benchmon/ledger.jsonl) == *'"event":"revoke"'*'"found":[{'* ]] ||
		fail 'the ledger does not say what was found'
	holder_down
	soon no_hooks
}

case_nothing_held() {
	granted
	bm revoke "$id"
	did
	same "$id revoked" "$out"
	no_hooks || fail 'hooks of a recall are attached for nothing'
}

# It is the object that is granted: what was opened before works as long as that is.
case_granted_again() {
	granted
	holder_up
	bm revoke "$id"
	did 'refused: fd 3'
	granted
	echo >&"$lines"
	soon grep -q hello "$tmp/held"
	holder_down
	same 0 "$code" 'the exit code of who held it'
	bm revoke "$id"
	did "$id revoked"
	soon no_hooks
}

# A process that the kernel does not let go of: no revocation, nobody waits for long, and less the
# next time. The file system that it writes to is frozen.
case_stuck() {
	local stuck=$tmp/stuck began took
	mkdir "$stuck"
	truncate -s 8M "$stuck.img"
	mkfs.ext4 -q "$stuck.img"
	mount -o loop "$stuck.img" "$stuck"
	make_bench e2
	bm grant e2 file "$stuck:/in/stuck:rw" --yes
	did 'e2/1 granted'
	fsfreeze -f "$stuck"
	benchmon exec e2 -T -- touch /in/stuck/file >"$tmp/held" 2>&1 &
	holder=$!
	soon in_cgroup e2 D
	bm revoke e2/1
	refused 125 'kill cgroup '
	began=$EPOCHREALTIME
	bm revoke e2/1
	took=$((${EPOCHREALTIME/./} - ${began/./}))
	refused 125 'kill cgroup '
	((took < 4500000)) || fail "the second attempt took $took us"
	bm show e1
	did 'state      ready'
	fsfreeze -u "$stuck"
	wait "$holder" || :
	bm revoke e2/1
	did 'e2/1 revoked'
	bm destroy e2
	did
	umount "$stuck"
	rm -r "$stuck" "$stuck.img" "$tmp/held"
}

case_usage() {
	bm grant e1 file "$disk/src" --for 10
	refused 2 "'10': not a duration; write it as 90s, 10m, 2h or 1d"
	bm grant e1 net 198.51.100.1:80 --for 0s
	refused 2 "'0s': no time at all"
	bm grant e1 file "$disk/src" --for 366d
	refused 2 "'366d': longer than a year"
	bm grant e1 file "$disk/src" --on-revoke ask
	refused 2 'grant: --on-revoke is kill or report'
	bm grant e1 net 198.51.100.1:80 --on-revoke kill
	refused 2 'grant: --on-revoke is not for net, which takes'
	bm grant e1 file "$disk/src" --for 10m --on-revoke report --yes
	refused 125 'a grant that ends by itself leaves nothing mapped (rule: expiry)'
}

case_ends_by_itself() {
	granted --for 2s
	printed 'ends' 'by itself, 2 s after it was confirmed'
	bm show e1
	did '  until 20'
	narrow
	soon no_grant
	bm exec e1 -- cat /in/src/file
	ended 1
	[[ $(tail -n 3 /var/lib/benchmon/ledger.jsonl) == *'"reason":"expired"'* ]] ||
		fail 'the ledger does not say that it expired'
	soon no_hooks
}

case_net_ends_by_itself() {
	bm grant e1 net 198.51.100.10:80 --for 1s --yes
	did 'granted: 198.51.100.10:80'
	soon no_grant
}
