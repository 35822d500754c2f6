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
