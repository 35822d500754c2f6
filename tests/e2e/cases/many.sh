# shellcheck shell=bash disable=SC2034,SC2154
# Ten thousand destinations in one profile: sealed, granted, found again after a crash, refreshed, and
# taken back, each in a bounded time; and a table of the kernel's that has no room for more.
: "${e2e:?}" "${repo:?}" "${tmp:?}" "${server:?}"

# shellcheck source=tests/e2e/resolver.sh
. "$e2e/resolver.sh"

# Eight hosts of 64 IPv4 addresses, beyond the host, with ten ports each, and 77 of IPv6, which are
# the host's own: 5,120 and 4,880.
names=8 ports=10 sixes=77
one_a=192.0.2.0/8000 one_b=203.0.113.199/8008 one_c=2001:db8:99::4c:f/8010
nowhere=203.0.113.199/8010 beyond=2001:db8:99::4c:10/8010 added=2001:db8:99::4c:1f/8010

setup() {
	ip route add 192.0.2.0/24 via "$server"
	ip route add 203.0.113.0/24 via "$server"
	ip -n e2e-world route add local 192.0.2.0/24 dev lo
	ip -n e2e-world route add local 203.0.113.0/24 dev lo
	ip -6 route add local 2001:db8:99::/64 dev lo
	serve_at four ip netns exec e2e-world python3 -B -S -s "$e2e/helpers/serve.py" 0.0.0.0 \
		$(seq 8000 8010)
	serve_at six python3 -B -S -s "$e2e/helpers/serve.py" :: 8010
	zone 16
	resolver_up
	define many "$(entries)" ',"overlap":"1h"'
	define one '{"address":"'"$server"'","protocol":"tcp","port":8080,"why":"it serves"}'
	# The daemon is there, and its key.
	bm profile seal one --yes
	did 'one sealed until '
}

teardown() {
	local pid
	for pid in $(<"$tmp/four") $(<"$tmp/six"); do
		kill "$pid"
		soon gone "$pid"
	done
	rm "$tmp/four" "$tmp/six"
	ip route delete 192.0.2.0/24
	ip route delete 203.0.113.0/24
	ip -n e2e-world route delete local 192.0.2.0/24 dev lo
	ip -n e2e-world route delete local 203.0.113.0/24 dev lo
	ip -6 route delete local 2001:db8:99::/64 dev lo
	resolver_down
}

serve_at() { # FILE COMMAND...: leaves its pid there
	local ready
	exec {ready}< <(exec "${@:2}")
	line_from "$ready" _
	echo $! >"$tmp/$1"
}

zone() { # HOW-MANY: of the last host
	local i block=(192.0.2 203.0.113)
	for ((i = 0; i < names; i++)); do
		echo "four$i.test 5 RANGE A ${block[i / 4]}.$((i % 4 * 64)) 64"
	done >"$tmp/zone"
	for ((i = 0; i < sixes - 1; i++)); do
		printf 'six%d.test 5 RANGE AAAA 2001:db8:99::%x:0 64\n' $i $i
	done >>"$tmp/zone"
	printf 'six%d.test 5 RANGE AAAA 2001:db8:99::%x:0 %d\n' $i $i "$1" >>"$tmp/zone"
}

entry() { # HOST PORT
	printf '{"host":"%s.test","protocol":"tcp","port":%d,"why":"it serves"}' "$1" "$2"
}

entries() {
	local i port comma=
	for ((i = 0; i < names; i++)); do
		for ((port = 8000; port < 8000 + ports; port++)); do
			printf '%s' "$comma$(entry "four$i" $port)"
			comma=,
		done
	done
	for ((i = 0; i < sixes; i++)); do
		printf ',%s' "$(entry "six$i" 8010)"
	done
}

hears() { # ADDRESS/PORT...
	local to
	for to; do
		bm exec e1 -- bash -c "cat </dev/tcp/$to"
		did "hello from ${to#*/}"
	done
}

hears_nothing() { # ADDRESS/PORT...
	local to
	for to; do
		bm exec e1 -- bash -c "cat </dev/tcp/$to"
		[[ $code -ne 0 && $out == '' && $err == *": connect: "* ]] || fail "$to is open"
	done
}

case_ten_thousand() {
	took 60 bm profile seal many --yes
	did 'hosts     157, with 10000 addresses' 'many sealed until '
	make_bench e1
	took 30 bm grant e1 net many --yes
	did 'granted: profile many'
	hears "$one_a" "$one_b" "$one_c"
	hears four7.test/8008 six76.test/8010
	hears_nothing "$nowhere" "$beyond"
	took 10 bm show e1
	did 'net       many' 'four0.test, addresses: 640'
	narrow
	stop_daemon KILL
	took 30 bm show e1
	did 'net       many'
	hears "$one_a" "$one_b" "$one_c"
	hears_nothing "$nowhere" "$beyond"
	# What is new opens, and nothing closes.
	zone 32
	took 90 bm profile refresh many --yes
	did '+ [2001:db8:99::4c:1f]:8010/tcp of six76.test'
	hears "$one_a" "$one_b" "$one_c" "$added"
	took 20 bm revoke e1/1 four7.test
	did 'e1/1: four7.test revoked'
	hears_nothing "$one_b"
	hears "$one_a" "$one_c"
	took 30 bm revoke e1/1
	did 'e1/1 revoked'
	hears_nothing "$one_a" "$one_b" "$one_c" "$added"
	bm show e1
	did 'grants     none'
	bm destroy e1
	did
}

entries_now() { # [MORE]: in the kernel's table, into $out
	capture "$repo/build/e2e/fill" /sys/fs/bpf/benchmon/maps/destinations "${1-0}"
	did
}

# A grant that finds no room is refused as a whole, and costs nobody anything.
case_full() {
	# Also what is kept from the refresh.
	bm profile seal many --yes
	did 'hosts     157, with 100' 'many sealed until '
	bm profile seal one --yes
	did 'one sealed until '
	make_bench e1
	make_bench e2
	bm grant e1 net one --yes
	did 'granted: profile one'
	# But for 5,000 of them, with what is no Bench's.
	entries_now $((65536 - 5001))
	same $((65536 - 5000)) "$out" 'how many there are'
	bm grant e2 net many --yes
	refused_after 125 "the kernel's table of 65536 destinations is full (rule: destinations)" \
		'revoke what is not needed'
	entries_now
	same $((65536 - 5000)) "$out" 'how many there are'
	same 1 "$(nft list tables | grep -c benchmon_bm)" 'links'
	bm show e2
	did 'grants     none'
	hears "$server/8080"
	stop_daemon KILL
	bm ls
	did
	entries_now
	same 1 "$out" 'how many the ledger knows of'
	bm grant e2 net many --yes
	did 'granted: profile many'
	bm destroy e1
	did
	bm destroy e2
	did
}

refused_after() { # CODE WORDS...: what is going to be granted has been shown
	local words
	ended "$1"
	for words in "${@:2}"; do
		[[ $err == *"$words"* ]] || fail "not in the refusal: $words"
	done
}
