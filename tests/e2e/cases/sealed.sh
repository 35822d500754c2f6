# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# What is sealed of a profile, granted: by name, host by host, and brought up to date while it is used.
: "${e2e:?}" "${tmp:?}" "${server:?}"

# shellcheck source=tests/e2e/resolver.sh
. "$e2e/resolver.sh"

entry_a='{"host":"a.test","protocol":"tcp","port":8080,"why":"it serves"}'
entry_b='{"host":"b.test","protocol":"tcp","port":8080,"why":"so does it"}'

setup() {
	other_up
	zone "$server" "$other"
	resolver_up
	both
}

teardown() {
	other_down
	resolver_down
}

zone() { # A-OF-a.test A-OF-b.test
	printf '%s\n' "a.test 5 A $1" "a.test 5 AAAA 2001:db8:77::1" "b.test 5 A $2" >"$tmp/zone"
}

# And the Bench goes: a daemon that is killed takes its own view of it along.
ungranted() {
	bm show e1
	did 'grants     none'
	bm exec e1 -- sh -c 'grep -s test /etc/hosts'
	[[ $code -ne 0 && $out == '' ]] || fail 'names are left'
	[[ ! -e /run/benchmon/hosts/e1 ]] || fail 'its hosts file is left'
	bm destroy e1
	did
}

case_granted() {
	make_bench e1
	bm grant e1 net p --yes
	did 'net grant for e1:' '  profile   p' '  host      a.test, addresses: 2' '  host      b.test, addresses: 1' \
		'granted: profile p, until '
	hears a.test
	hears b.test
	hears "$server"
	# No resolver, and nothing beside.
	hears_nothing c.test 'c.test: '
	bm exec e1 -- bash -c "cat </dev/tcp/a.test/8081"
	[[ $code -ne 0 && $err == *'Operation not permitted'* ]] || fail 'the port beside it is open'
	bm exec e1 -- sh -c 'echo 192.0.2.1 x.test >>/etc/hosts'
	[[ $code -ne 0 && $err == *'/etc/hosts: '* ]] || fail 'it can write its hosts'
	bm show e1
	did 'net       p' 'sealed until ' 'a.test, addresses: 2'
	narrow
	bm show e1 --format json
	printed '"profile":"p"' '"host":"b.test"'
	bm grant e1 net p --yes
	refused 125 'grants profile p already (rule: one-grant); `benchmon profile refresh p` brings it up to date'
	bm revoke e1 --all
	did revoked
	hears_nothing "$server" ''
	ungranted
}

case_one_host() {
	make_bench e1
	bm grant e1 net p --yes
	did
	key_of_grant
	bm revoke "$id" b.test
	did "$id: b.test revoked"
	hears a.test
	hears_nothing b.test 'b.test: '
	hears_nothing "$other" 'Operation not permitted'
	bm show e1
	did 'b.test, addresses: 1 (revoked)'
	bm revoke "$id" b.test
	refused 125 "$id grants no host b.test; see \`benchmon show BENCH\`"
	bm revoke "$id" nobody.test
	refused 125 "$id grants no host nobody.test"
	# So it stays with a daemon that is started again, and with the last host the grant ends.
	kill -9 "$(daemon_of)"
	bm show e1
	did 'b.test, addresses: 1 (revoked)'
	hears a.test
	hears_nothing "$other" 'Operation not permitted'
	bm revoke "$id" a.test
	did "$id revoked" "$id: a.test revoked"
	ungranted
}

both() { # ENTRIES: as setup has them, or fewer
	define p "${1-$entry_a,$entry_b}" ',"overlap":"1h"'
	bm profile seal p --yes
	did 'p sealed until '
}

# An address that two hosts have, and a grant of its own: open until nothing reaches it any more.
case_shared_address() {
	make_bench e1
	zone "$server" "$server"
	both
	bm grant e1 net p --yes
	did
	key_of_grant
	bm grant e1 net "$server:8080" --yes
	did granted
	bm revoke "$id" a.test
	did
	hears b.test
	bm revoke "$id"
	did
	hears "$server"
	bm revoke e1 --all
	did
	hears_nothing "$server" ''
	zone "$server" "$other"
	both
	ungranted
}

# What is answered no more stays for a while, what is defined no more goes at once.
case_refreshed() {
	make_bench e1
	both "$entry_a"
	zone "$server" "$server"
	both
	bm grant e1 net p --yes
	did
	hears a.test
	hears_nothing "$other" 'Operation not permitted'
	zone "$server" "$other"
	bm profile refresh p --yes
	did "+ $other:8080/tcp of b.test" "= $server:8080/tcp of b.test, not answered, kept until"
	hears b.test
	hears "$other"
	grep -q '"event":"refreshed"' "$state/ledger.jsonl" || fail 'not in the ledger'
	# By a daemon that knows of it by the ledger alone.
	kill -9 "$(daemon_of)"
	hears "$other"
	both "$entry_a"
	hears a.test
	hears_nothing "$other" 'Operation not permitted'
	bm exec e1 -- grep -c "$other" /etc/hosts
	printed 0
	bm show e1
	did 'a.test, addresses: 2'
	bm revoke e1 --all
	did
	zone "$server" "$other"
	both
	ungranted
}

# A denial says under which name it was sealed, and what to do when only its age is against it.
case_told() {
	make_bench e1
	bm grant e1 net p --yes
	did
	key_of_grant
	hears b.test
	bm revoke "$id" b.test
	did
	hears_nothing "$other" 'Operation not permitted'
	bm events --bench e1
	did "$other:8080/tcp (b.test) by bash"
	aged
	hears_nothing a.test 'Operation not permitted'
	bm events --bench e1 --format json
	did '"rule":"expired"' '"host":"a.test","profile":"p","hint":"benchmon profile refresh p"'
	bm profile refresh p --yes
	did
	hears a.test
	hears_nothing b.test 'b.test: '
	bm revoke e1 --all
	did
	ungranted
}

case_refused() {
	make_bench e1
	define q "$entry_a"
	bm grant e1 net q --yes
	refused 125 'is not sealed'
	bm grant e1 net nope --yes
	refused 125 'there is no profile nope (rule: profile)'
	bm grant e1 net '../p' --yes
	refused 125 '(rule: a destination is HOST:PORT or ADDRESS:PORT[/tcp|/udp])'
	bm grant e1 net P --yes
	refused 125 'the port is missing'
	# Altered since.
	cp "$state/profiles/p.json" "$tmp/kept"
	sed -i 's/b\.test/x.test/' "$state/profiles/p.json"
	bm grant e1 net p --yes
	refused 125 '(rule: seal)'
	cp "$tmp/kept" "$state/profiles/p.json"
	rm "$tmp/kept"
	# Sealed anew between the question and the answer.
	echo "benchmon profile seal p --yes >/dev/null" >"$tmp/swap"
	python terminal "$tmp/swap:y" benchmon grant e1 net p
	ended 125
	printed 'profile p has been sealed anew since it was shown (rule: confirmation); grant it again'
	rm "$tmp/swap"
	ungranted
}
