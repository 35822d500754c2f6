# shellcheck shell=bash disable=SC2034,SC2154
# Profiles of the test's own, and a DNS server for names under .test: $tmp/zone, read for each question.
: "${repo:?}" "${tmp:?}"

state=/var/lib/benchmon

# The daemon's mounts are those of its start.
resolver_up() {
	local ready
	unmounted
	mkdir -p "$tmp/etc/profiles" /etc/benchmon
	chmod 755 "$tmp/etc" "$tmp/etc/profiles"
	echo 'nameserver 127.0.0.77' >"$tmp/resolv.conf"
	[[ -e /etc/resolv.conf ]] || : >/etc/resolv.conf
	mount --bind "$tmp/etc" /etc/benchmon
	mount --bind "$tmp/resolv.conf" /etc/resolv.conf
	exec {ready}< <(exec "$repo/build/e2e/dns" 127.0.0.77 "$tmp/zone")
	line_from "$ready" _
	echo $! >"$tmp/dns"
	stop_daemon
}

resolver_down() {
	local pid
	read -r pid <"$tmp/dns"
	kill "$pid"
	unmounted
	rmdir /etc/benchmon
	rm -r "${tmp:?}"/{etc,dns,zone,resolv.conf} "$state/profiles" "$state/seal.key"
	stop_daemon
	bm ls
	did
}

unmounted() {
	umount -l /etc/benchmon /etc/resolv.conf 2>/dev/null || :
}

define() { # NAME ENTRIES [MORE]
	local file=/etc/benchmon/profiles/$1.json
	printf '{"name":"%s","description":"for the test"%s,"entries":[%s]}\n' "$1" "${3-}" "$2" >"$file"
	chmod 644 "$file"
}

# A second host in the world, which says hello at port 8080 as the first one does.
other=198.51.100.11

other_up() {
	local ready
	ip -n e2e-world address add "$other/24" dev e2e1
	exec {ready}< <(exec ip netns exec e2e-world python3 -B -S -s "$e2e/helpers/serve.py" \
		"$other" 8080)
	line_from "$ready" _
	echo $! >"$tmp/there"
}

other_down() {
	local pid
	read -r pid <"$tmp/there"
	kill "$pid"
	soon gone "$pid"
	ip -n e2e-world address delete "$other/24" dev e2e1
	rm "$tmp/there"
}

hears() { # HOST
	bm exec e1 -- bash -c "cat </dev/tcp/$1/8080"
	did 'hello from 8080'
}

hears_nothing() { # HOST WORDS
	bm exec e1 -- bash -c "cat </dev/tcp/$1/8080"
	[[ $code -ne 0 && $out == '' && $err == *"$2"* ]] || fail "$1 is not closed"
}

daemon_of() {
	daemon_pid
	echo "$daemon"
}

key_of_grant() { # into $id
	bm show e1 --format json
	id=$(jq -r '.grants[0].id' "$tmp/out")
}

# As if the seal had aged: to the kernel, a time that is past.
aged() {
	local map=/sys/fs/bpf/benchmon/maps/destinations words
	while read -ra words; do
		bpftool map update pinned "$map" "${words[@]}"
	done < <(bpftool -j map dump pinned "$map" | jq -r '.[] |
		"key hex \(.key | map(ltrimstr("0x")) | join(" ")) value hex \(.value[0:8] |
		map(ltrimstr("0x")) | join(" ")) 01 00 00 00 00 00 00 00"')
}
