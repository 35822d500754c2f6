# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# One host by its name: resolved, shown, sealed and granted at once, and nothing of it left by a failure.
: "${e2e:?}" "${tmp:?}" "${server:?}"

# shellcheck source=tests/e2e/resolver.sh
. "$e2e/resolver.sh"

one=a.test:8080

setup() {
	other_up
	zone "$server"
	resolver_up
	# The key is there from now on, and the directory.
	bm profile seal "$one" --yes
	did
	rm "$state/profiles/$one.json"
}

teardown() {
	other_down
	resolver_down
}

zone() { # A-OF-a.test [LINE...]
	printf '%s\n' "a.test 5 A $1" 'a.test 60 AAAA 2001:db8:77::1' "b.test 5 A $other" "${@:2}" >"$tmp/zone"
}

# Benches, and what is sealed.
none_left() { # BENCH...
	local bench
	for bench; do
		bm show "$bench"
		did 'grants     none'
		[[ ! -e /run/benchmon/hosts/$bench ]] || fail 'its hosts file is left'
		bm destroy "$bench"
		did
	done
	rm -f "$state/profiles"/*
}

nothing_sealed() {
	same '' "$(ls -A "$state/profiles" 2>/dev/null)" 'what is sealed'
}

case_granted() {
	make_bench e1
	bm grant e1 net "$one" --yes
	did 'net grant for e1:' "  host      $one" '  sealed to ' '  a.test port 8080/tcp' \
		"    $server, ttl 5 s" '    2001:db8:77::1, ttl 60 s' '    takes uploads: data can leave by it' \
		"granted: profile $one, until "
	[[ $out != *'against what'* && $out != *'also in'* && $out != *private* ]] || fail 'it says too much'
	narrow
	hears a.test
	hears "$server"
	bm exec e1 -- bash -c 'cat </dev/tcp/a.test/8081'
	[[ $code -ne 0 && $err == *'Operation not permitted'* ]] || fail 'the port beside it is open'
	hears_nothing b.test 'b.test: '
	hears_nothing "$other" 'Operation not permitted'
	bm show e1
	did "net       $one" 'sealed until ' 'a.test, addresses: 2'
	bm show e1 --format json
	printed "\"profile\":\"$one\"" '"host":"a.test"'
	bm grant e1 net A.Test:8080/tcp --yes
	refused 125 "grants profile $one already (rule: one-grant); \`benchmon profile refresh $one\` brings it"
	# So it stays with a daemon that is started again.
	kill -9 "$(daemon_of)"
	hears a.test
	bm show e1
	did 'a.test, addresses: 2'
	bm revoke e1/1
	did 'e1/1 revoked'
	hears_nothing a.test 'a.test: '
	hears_nothing "$server" 'Operation not permitted'
	none_left e1
}

# Its seal is one like any other.
case_sealed() {
	make_bench e1
	bm profile show "$one"
	did 'state        unsealed' '  a.test port 8080/tcp, takes uploads'
	bm profile refresh "$one" --yes
	refused 125
	bm grant e1 net "$one" --yes
	did
	grep -q "\"event\":\"profile-seal\",\"profile\":\"$one\",.*\"hosts\":\\[\"a.test:8080\"\\].*\"how\":\"yes\"" \
		"$state/ledger.jsonl" || fail 'not in the ledger'
	bm profile ls
	did "$one  sealed      1          2"
	bm profile ls --format names
	did "$one"
	bm profile show A.test:8080/tcp
	did "name         $one" 'description  one host, by its name' 'state        sealed' "    $server, ttl 5 s"
	[[ $out != *file* ]] || fail 'a file of none'
	bm profile verify "$one"
	did "$one: good until "
	bm grant e1 net b.test:53/udp --yes
	did 'b.test port 53/udp' 'granted: profile b.test:53/udp'
	bm profile verify b.test:53/udp
	did 'b.test:53/udp: good until '
	sed -i 's/b\.test"/x.test"/' "$state/profiles/b.test:53,udp.json"
	bm profile verify b.test:53/udp
	refused 125 'it was altered after it had been sealed' '`benchmon profile seal b.test:53/udp`'
	bm profile unseal "$one"
	refused 125 "e1/1 grants profile $one (rule: profile); \`benchmon revoke e1/1\`"
	bm revoke e1 --all
	did
	bm profile unseal A.test:8080
	did "$one unsealed"
	bm profile unseal b.test:53/udp --format json
	did '{"unsealed":"b.test:53/udp"}'
	bm profile unseal "$one"
	refused 125 "profile $one is not sealed"
	bm profile unseal ../seal.key
	refused 125 'is no name of a profile'
	nothing_sealed
	grep -q "\"event\":\"profile-unseal\",\"profile\":\"$one\"" "$state/ledger.jsonl" || fail 'not in the ledger'
	none_left e1
}

case_not_confirmed() {
	make_bench e1
	bm grant e1 net "$one"
	refused 125 'there is no terminal to ask on'
	python terminal n benchmon grant e1 net "$one"
	ended 1
	printed "    $server, ttl 5 s" 'Grant this to e1? [y/N]' 'not granted'
	nothing_sealed
	# Other addresses between the question and the answer: what was shown is what is granted.
	printf '%s\n' "sed -i 's/$server/$other/' '$tmp/zone'" >"$tmp/swap"
	py terminal "$tmp/swap:y" benchmon grant e1 net "$one"
	printed "    $server, ttl 5 s" "granted: profile $one"
	rm "$tmp/swap"
	zone "$server"
	hears "$server"
	hears_nothing "$other" 'Operation not permitted'
	grep -q '"event":"profile-seal".*"how":"tty"' "$state/ledger.jsonl" || fail 'not in the ledger'
	bm revoke e1 --all
	did
	none_left e1
}

# Granted to another it is looked at anew, and who has it already follows.
case_again() {
	make_bench e1
	make_bench e2
	bm grant e1 net "$one" --yes
	did
	zone "$other"
	bm grant e2 net "$one" --yes
	did 'net grant for e2:' '  also in   e1/1' 'against what is sealed now:' "  + $other:8080/tcp of a.test" \
		"  = $server:8080/tcp of a.test, not answered, kept until" "e2/1 granted: profile $one" \
		'  e1/1: addresses added: 1, kept for a while: 1, dropped: 0'
	narrow
	hears "$other"
	hears "$server"
	bm exec e2 -- bash -c "cat </dev/tcp/a.test/8080"
	did 'hello from 8080'
	bm revoke e1 --all
	did
	hears_nothing "$other" 'Operation not permitted'
	bm exec e2 -- bash -c "cat </dev/tcp/$other/8080"
	did 'hello from 8080'
	bm revoke e2/1 a.test
	did 'e2/1 revoked' 'e2/1: a.test revoked'
	zone "$server"
	none_left e1 e2
}

case_refreshed() {
	make_bench e1
	bm grant e1 net "$one" --yes
	did
	bm profile refresh "$one" --yes
	did 'no address has changed'
	aged
	hears_nothing a.test 'Operation not permitted'
	bm events --bench e1 --format json
	did '"rule":"expired"' "\"host\":\"a.test\",\"profile\":\"$one\",\"hint\":\"benchmon profile refresh $one\""
	zone "$other"
	bm profile refresh "$one" --yes --format json
	did '"refreshed":[{"grant":"e1/1","added":1,"kept":1,"dropped":0}]'
	hears "$other"
	hears "$server"
	bm revoke e1 --all
	did
	bm profile refresh "$one" --yes
	did
	[[ $out != *'e1/1:'* ]] || fail 'it tells of a grant that has gone'
	zone "$server"
	none_left e1
}

# Private addresses: those that were shown, and not where the name leads next.
case_private() {
	make_bench e1
	zone "$server" 'p.test 5 A 10.99.0.1' 'both.test 5 A 10.99.0.1' "both.test 5 A $other"
	bm grant e1 net p.test:80 --yes
	refused 125 'p.test has no address that may be sealed: 10.99.0.1:80/tcp is a private address' \
		'(rule: private addresses are allowed one by one); pass --private'
	nothing_sealed
	bm grant e1 net both.test:8080 --yes
	did "    $other" '  refused   both.test: 10.99.0.1:8080/tcp is a private address' 'granted'
	hears both.test
	bm grant e1 net p.test:80 --private --yes
	did '  private   yes: ' '    10.99.0.1, ttl 5 s' 'granted'
	bm profile refresh p.test:80 --yes
	did '  private   yes: ' 'no address has changed'
	zone "$server" 'p.test 5 A 10.99.0.2'
	bm profile refresh p.test:80 --yes
	refused 125 'p.test has no address that may be sealed: 10.99.0.2:80/tcp is a private address'
	bm profile seal p.test:80 --private --yes
	did '+ 10.99.0.2:80/tcp of p.test' '= 10.99.0.1:80/tcp of p.test'
	zone "$server" 'p.test 5 A 127.0.0.1'
	bm profile seal p.test:80 --private --yes
	refused 125 '127.0.0.1:80/tcp is a loopback address (rule: never sealed)'
	define p '{"host":"a.test","protocol":"tcp","port":80,"why":"w"}'
	bm profile seal p --private --yes
	refused 125 'profile p says by itself which private addresses are meant'
	bm revoke e1 --all
	did
	zone "$server"
	none_left e1
}

# Nothing that may be granted: no seal, no grant, and a connection that is as good as before.
full_case_unresolved() {
	local line
	make_bench e1
	zone "$server" 'loop.test 5 A 127.0.0.1' 'loop.test 5 AAAA fe80::1' 'empty.test 5 A' 'failing.test 0 SERVFAIL' \
		'silent.test 0 SILENT'
	while IFS='|' read -r name line; do
		bm grant e1 net "$name:80" --yes
		refused 125 "$line"
	done <<-'END'
		nope.test|nope.test: no such host (rule: resolve); check the name
		empty.test|empty.test exists and has no address
		failing.test|failing.test: no answer for its IPv4 addresses
		silent.test|silent.test: no answer for its IPv4 addresses: the resolver was silent
		loop.test|loop.test has no address that may be sealed: [fe80::1]:80/tcp is a link-local address
	END
	nothing_sealed
	[[ ! -e $state/profiles/loop.test:80.json ]] || fail 'sealed all the same'
	py hosts "$server"
	none_left e1
}

# The grant fails when the seal has been written: it is as it was before.
case_undone() {
	make_bench e1
	bm exec e1 -- sh -c 'mv /etc /gone && ln -s gone /etc'
	did
	bm grant e1 net "$one" --yes
	ended 125
	[[ $err == *'/etc in the Bench is no directory'* ]] || fail 'another reason'
	nothing_sealed
	bm profile seal "$one" --yes
	did
	cp "$state/profiles/$one.json" "$tmp/kept"
	zone "$other"
	bm grant e1 net "$one" --yes
	ended 125
	cmp "$tmp/kept" "$state/profiles/$one.json" || fail 'another seal'
	same 2 "$(grep -c "\"event\":\"profile-failed\",\"profile\":\"$one\"" "$state/ledger.jsonl")"
	bm profile verify "$one"
	did
	rm "$tmp/kept"
	zone "$server"
	none_left e1
}

case_run() {
	bm run --net "$one" --yes -- bash -c "cat </dev/tcp/a.test/8080; cat </dev/tcp/$other/8080"
	[[ $out == 'hello from 8080' && $err == *"host      $one"*"allow with: benchmon run --net $other:8080"* ]] ||
		fail 'not run with that host alone'
	bm ls
	[[ $out != *b1* ]] || fail 'the Bench is left'
	rm "$state/profiles/$one.json"
}
