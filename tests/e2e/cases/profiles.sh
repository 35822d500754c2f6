# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Profiles: resolved by a server of ours, shown, confirmed, sealed, and refused when they are not what was sealed.
: "${e2e:?}" "${repo:?}" "${tmp:?}" "${disk:?}"


# shellcheck source=tests/e2e/resolver.sh
. "$e2e/resolver.sh"

seal=$state/profiles/p.json
tail=',"protocol":"tcp","port":443,"why":"it is needed"'
setup() {
	mkdir -p "$tmp/fake"
	zone
	resolver_up
	# The key is there from now on.
	define p "$(host a.test)"
	sealed p
}

teardown() {
	rm -r "$tmp/fake"
	resolver_down
}

# Of the server, with more lines.
zone() { # [LINE...]
	cat >"$tmp/zone" <<-END
		a.test 300 A 192.0.2.1
		a.test 60 AAAA 2001:db8::1
		b.test 500 CNAME c.test
		c.test 40 A 192.0.2.3
		turn.test 5 TURN A 192.0.2.11 192.0.2.12 192.0.2.13
		loop.test 5 A 127.0.0.1
		mixed.test 5 A 127.0.0.1
		mixed.test 5 A 192.0.2.9
		local.test 5 A 10.1.2.3
		empty.test 5 A
		failing.test 0 SERVFAIL
		silent.test 0 SILENT
	END
	[[ $# -eq 0 ]] || printf '%s\n' "$@" >"$tmp/zone"
}

host() { # NAME
	printf '{"host":"%s"%s}' "$1" "$tail"
}

sealed() { # NAME [OPTION...]
	bm profile seal "$@" --yes
	did "$1 sealed until "
}

forget() {
	rm -rf "$state/profiles" "$state/seal.key"
	rm -f /etc/benchmon/profiles/*
}

case_usage() {
	bm profile
	refused 2
	bm profile mend
	refused 2 "no 'mend', there are ls, show, seal, verify, refresh and unseal"
	bm profile show
	refused 2 'profile show: which one?'
	bm profile ls p
	refused 2 'profile ls takes no name'
	bm profile verify p --yes
	refused 2 'profile verify takes none of --image, --rootfs, --private and --yes'
	bm profile refresh p --rootfs /
	refused 2 'profile refresh takes none of --image, --rootfs'
	bm profile seal p --rootfs / --image x
	refused 2 'give one of --image and --rootfs'
	bm profile show nope
	refused 125 'there is no profile nope (rule: profile); see `benchmon profile ls`'
	bm profile seal ../p --yes
	refused 125 'is no name of a profile'
	bm completion bash
	did 'operands="ls show seal verify refresh unseal"'
}

case_seal() {
	forget
	define p "$(host a.test),$(host b.test),$(host turn.test),{\"address\":\"192.0.2.200\"$tail}"
	bm profile verify p
	refused 125 'there is no key yet: nothing has been sealed'
	bm profile ls
	did 'p' 'unsealed'
	bm profile seal p --yes
	did 'profile p:' 'what      for the test' 'hosts     4, with 7 addresses' \
		'  a.test port 443/tcp' '    192.0.2.1, ttl 300 s' '    2001:db8::1, ttl 60 s' \
		'    192.0.2.3, ttl 40 s' '    192.0.2.11, ttl 5 s' '    192.0.2.12, ttl 5 s' \
		'    192.0.2.13, ttl 5 s' '  given addresses, port 443/tcp' '    192.0.2.200' \
		'p sealed until '
	[[ $out != *uploads* && $out != *'against what'* ]] || fail 'it says too much'
	narrow
	same '600 0 600 0 700 0' "$(stat -c '%a %u' "$seal" "$state/seal.key" "$state/profiles" | xargs)"
	bm profile verify p
	did 'p: good until '
	bm profile verify
	did 'p: good until '
	bm profile ls
	did 'p     sealed      4          7'
	bm profile ls --format names
	same p "$out"
	bm profile show p
	did 'state        sealed' 'file         /etc/benchmon/profiles/p.json' \
		'  a.test port 443/tcp' '    it is needed' 'sealed hosts' '    192.0.2.13, ttl 5 s'
	bm profile show p --format json
	did '"state":"sealed"' '"entries":[{"host":"a.test"' '"hosts":[{"host":"a.test"' \
		'{"address":"192.0.2.1","ttl":300,"seen":'
	bm ls
	did
	grep -q '"event":"profile-seal","profile":"p",.*"hosts":\["a.test:443",.*"how":"yes"' \
		"$state/ledger.jsonl" || fail 'not in the ledger'
}

case_not_confirmed() {
	forget
	define p "$(host a.test)"
	bm profile seal p
	refused 125 'there is no terminal to ask on'
	[[ ! -e $seal ]] || fail 'sealed all the same'
	python terminal n benchmon profile seal p
	ended 1
	printed 'Seal this? [y/N]' 'not sealed'
	[[ ! -e $seal ]] || fail 'sealed all the same'
	py terminal y benchmon profile seal p
	printed 'p sealed until'
	grep -q '"event":"profile-seal".*"how":"tty"' "$state/ledger.jsonl" || fail 'not in the ledger'
}

case_addresses() {
	define p "$(host loop.test)"
	bm profile seal p --yes
	refused 125 'loop.test has no address that may be sealed: 127.0.0.1:443/tcp is a loopback address'
	define p "$(host mixed.test)"
	sealed p
	printed 'refused   mixed.test: 127.0.0.1:443/tcp is a loopback address' \
		'hosts     1, with 1 addresses' '    192.0.2.9'
	define p "$(host local.test)"
	bm profile seal p --yes
	refused 125 'local.test has no address that may be sealed: 10.1.2.3:443/tcp is a private' \
		'list it in "private" of the profile'
	define p "$(host local.test)" ',"private":["10.1.2.3"]'
	sealed p
	printed '    10.1.2.3'
}

case_no_answer() {
	define p "$(host nope.test)"
	bm profile seal p --yes
	refused 125 'nope.test: no such host (rule: resolve); check the name'
	define p "$(host a.test),$(host empty.test)"
	bm profile seal p --yes
	refused 125 'empty.test exists and has no address'
	define p "$(host failing.test)"
	bm profile seal p --yes
	refused 125 'failing.test: no answer for its IPv4 addresses'
	echo 'nameserver 127.0.0.78' >"$tmp/resolv.conf"
	bm profile seal p --yes
	refused 125 'failing.test: refused: no resolver listens' 'look at /etc/resolv.conf'
	echo 'nameserver 127.0.0.77' >"$tmp/resolv.conf"
}

# Into $resolver: a helper of the daemon's who is nobody.
resolving() {
	local path line
	for path in /proc/[0-9]*; do
		{ [[ $(<"$path/comm") == gatekeeperd ]] && line=$(grep '^Uid:' "$path/status"); } \
			2>/dev/null || continue
		[[ $line == *65534*65534*65534*65534* ]] || continue
		resolver=${path#/proc/}
		return 0
	done
	return 1
}

# While it is asked for, the daemon has time for others; nobody waits for it for ever.
case_waiting() {
	local pid
	define p "$(host silent.test)"
	benchmon profile seal p --yes >/dev/null 2>&1 &
	pid=$!
	soon resolving
	grep -q '^CapEff:[[:space:]]*0*$' "/proc/$resolver/status" || fail 'it has capabilities'
	grep -q '^Seccomp:[[:space:]]*2$' "/proc/$resolver/status" || fail 'it has no filter'
	! readlink "/proc/$resolver"/fd/* | grep -q 'ledger\|bpf\|gatekeeperd.sock' ||
		fail 'it has descriptors of the daemon'
	bm profile ls
	did changed
	kill "$pid"
	wait "$pid" || :
	soon gone "$resolver"
	bm profile ls
	did changed
}

case_altered() {
	forget
	define p "$(host a.test)"
	sealed p
	cp "$seal" "$tmp/kept"
	sed -i 's/192\.0\.2\.1"/192.0.2.7"/' "$seal"
	bm profile verify p
	refused 125 'profile p is refused: it was altered after it had been sealed (rule: seal)' \
		'`benchmon profile seal p`'
	bm profile verify
	ended 125
	printed 'p: profile p is refused'
	[[ $err == *'1 of 1 profiles can'* ]] || fail 'not counted'
	bm profile ls
	did refused
	bm profile refresh p --yes
	refused 125 'it was altered'
	sealed p
	printed 'before    profile p is refused: it was altered'
	bm profile verify p
	did

	chmod 660 "$seal"
	bm profile verify p
	refused 125 'p.json can be written by others (mode 0660)'
	chmod 600 "$seal"
	chown 65534 "$seal"
	bm profile verify p
	refused 125 'p.json belongs to uid 65534, not to root'
	mv "$seal" "$tmp/moved"
	ln -s "$tmp/moved" "$seal"
	bm profile verify p
	refused 125 'is a symbolic link'
	rm "$seal" "$tmp/moved"
	bm profile verify p
	refused 125 'profile p is not sealed (rule: seal); `benchmon profile seal p`'
	cp "$tmp/kept" "$state/profiles/q.json"
	define q "$(host a.test)"
	bm profile verify q
	refused 125 'what is sealed there is profile p'
	rm "$tmp/kept" "$state/seal.key"
	sealed p
	bm profile verify q
	refused 125 'sealed with a key that is not this machine'
}

case_definition() {
	forget
	define p "$(host a.test)"
	sealed p
	define p "$(host a.test),$(host c.test)"
	bm profile verify p
	refused 125 'its definition has changed since it was sealed'
	bm profile ls
	did changed
	bm profile refresh p --yes
	refused 125 'its definition has changed since it was sealed'
	sealed p
	printed 'against what is sealed now:' '  + 192.0.2.3:443/tcp of c.test'
	chmod 666 /etc/benchmon/profiles/p.json
	bm profile verify p
	refused 125 '/etc/benchmon/profiles/p.json can be written by others than its owner'
	bm profile seal p --yes
	refused 125 '/etc/benchmon/profiles/p.json can be written by others than its owner'
	define p "$(host under_score.test)"
	bm profile seal p --yes
	refused 125 'p.json: entry 1: host: an underscore (byte 0x5f) at 6 of the host name'
	rm /etc/benchmon/profiles/p.json
	bm profile ls
	did undefined
}

case_refresh() {
	forget
	define p "$(host a.test),$(host b.test)"
	bm profile refresh p --yes
	refused 125 'there is no key yet'
	sealed p
	bm profile refresh p --yes
	did 'against what is sealed now:' '  no address has changed' 'p sealed until'
	zone 'a.test 300 A 192.0.2.50' 'b.test 5 A 192.0.2.3'
	bm profile refresh p --yes
	did '  + 192.0.2.50:443/tcp of a.test' \
		'  = 192.0.2.1:443/tcp of a.test, not answered, kept until' \
		'  = [2001:db8::1]:443/tcp of a.test, not answered, kept until'
	[[ $out != *'192.0.2.3:'* ]] || fail 'what has not changed is told'
	bm profile show p
	did '    192.0.2.50, ttl 300 s' '    192.0.2.1, ttl 300 s, not answered, kept until'
	zone 'a.test 300 A 192.0.2.1' 'b.test 5 A 192.0.2.3'
	bm profile refresh p --yes
	did '  = 192.0.2.50:443/tcp of a.test'
	[[ $out != *'192.0.2.1:443'* ]] || fail 'what is back is told'
	bm profile refresh p --yes --format json
	did '"name":"p","state":"sealed"' '"change":{"what":"kept"'
	zone
	same 4 "$(grep -c '"event":"profile-refresh","profile":"p"' "$state/ledger.jsonl")"
}

# Only where the clock is ours to set.
case_expired() {
	forget
	define p "$(host a.test)" ',"max_age":"2d"'
	sealed p
	[[ -e /run/vm/guest ]] || return 0
	date -s '3 days' >/dev/null
	bm profile verify p
	date -s '3 days ago' >/dev/null
	refused 125 'profile p expired at ' '`benchmon profile refresh p`'
	date -s '3 days' >/dev/null
	bm profile refresh p --yes
	date -s '3 days ago' >/dev/null
	did 'no address has changed'
	bm profile verify p
	refused 125 'was sealed at ' 'the clock was set back'
	bm profile ls
	did expired
}

case_uploads() {
	forget
	define p "{\"host\":\"a.test\"$tail,\"uploads\":true}"
	sealed p
	printed 'uploads   yes: by some of its hosts data can leave as well as come' \
		'    takes uploads: data can leave by it'
	narrow
}

case_discover() {
	local root=$disk/image
	forget
	mkdir -p "$root/etc/apt/sources.list.d" "$root/usr/lib"
	printf 'deb http://a.test/x y z\ndeb cdrom:x y z\n' >"$root/etc/apt/sources.list"
	printf 'Types: deb\nURIs: https://b.test/\nSuites: x\n' >"$root/etc/apt/sources.list.d/b.sources"
	cp "$repo"/profiles/{apt,npm,pip}.json /etc/benchmon/profiles/
	chmod 644 /etc/benchmon/profiles/*
	chown 0:0 /etc/benchmon/profiles/*
	bm profile seal apt --yes
	refused 125 'what apt needs is discovered in an image (rule: discover); pass --image or --rootfs'
	sealed apt --rootfs "$root"
	printed "of        rootfs $root" 'a.test port 80/tcp, found by apt: /etc/apt/sources.list' \
		'b.test port 443/tcp, found by apt: /etc/apt/sources.list.d/b.sources' \
		'left out  cdrom: in /etc/apt/sources.list: neither http nor https'
	bm profile refresh apt --yes
	did 'no address has changed'
	bm profile seal npm --rootfs "$root" --yes
	refused 125 'npm: the image has no registry configured'
	echo 'registry=https://c.test/' >"$root/etc/npmrc"
	sealed npm --rootfs "$root"
	printed 'c.test port 443/tcp, found by npm: /etc/npmrc' 'takes uploads'
	echo 'index-url = https://a.test/simple' >"$root/etc/pip.conf"
	sealed pip --rootfs "$root"
	printed 'a.test port 443/tcp, found by pip: /etc/pip.conf'
	define p "$(host a.test)"
	bm profile seal p --rootfs "$root" --yes
	refused 125 'profile p discovers nothing in an image'
	rm -r "$root"
}

# podman mounts it, and is told when it is not needed any more.
case_image() {
	local root=$disk/image
	forget
	mkdir -p "$root/etc"
	echo 'registry=https://c.test/' >"$root/etc/npmrc"
	cp "$repo/profiles/npm.json" /etc/benchmon/profiles/
	chmod 644 /etc/benchmon/profiles/npm.json
	chown 0:0 /etc/benchmon/profiles/npm.json
	cat >"$tmp/fake/podman" <<-END
		#!/bin/sh
		echo "\$*" >>"$tmp/fake/log"
		[ "\$3" = there ] || { echo 'no such image' >&2; exit 125; }
		[ "\$2" != mount ] || echo "$root"
	END
	chmod 755 "$tmp/fake/podman"
	PATH=$tmp/fake:$PATH
	bm profile seal npm --image nothere --yes
	refused 125 'podman image mount: no such image'
	bm profile seal npm --image --all --yes
	refused 125 "'--all' is no name of an image"
	sealed npm --image there
	printed 'of        image there' 'found by npm: /etc/npmrc'
	rm "$root/etc/npmrc"
	bm profile seal npm --image there --yes
	refused 125 'npm: the image has no registry configured'
	same 'image mount nothere image mount there image unmount there image mount there image unmount there' \
		"$(xargs <"$tmp/fake/log")"
	rm -r "$root" "$tmp/fake/log"
}

# What is sealed is what was shown, and nobody has sealed another meanwhile.
case_order() {
	forget
	define p "$(host a.test)"
	define slow "$(host silent.test)"
	define npm '{"discover":"npm","why":"w"}'
	sealed p
	py profiles
}
