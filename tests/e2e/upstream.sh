# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# An upstream with TLS beyond the host, and Bench u1 with two brokers of it: of its model, and of its git.
: "${e2e:?}" "${repo:?}" "${tmp:?}" "${server:?}"

# shellcheck source=tests/e2e/resolver.sh
. "$e2e/resolver.sh"

secret=sk-e2e-Zq7/x+0123456789abcdef
up=$tmp/up

setup() {
	local ready image
	image=$("$repo/tools/rootfs" work) || fail 'no image to work in'
	mkdir "$up" "$tmp/mnt"
	mount -o loop,ro "$image" "$tmp/mnt"
	exec {ready}< <(exec ip netns exec e2e-world python3 -B -S -s "$e2e/helpers/upstream.py" \
		"$up" "$server" "$secret" 2>&1)
	echo $! >"$tmp/upstream"
	repository
	printf 'model.test 5 A %s\n' "$server" >"$tmp/zone"
	resolver_up
	mkdir -m 755 /etc/benchmon/brokers
	mkdir -m 700 /etc/benchmon/credentials
	IFS= read -rt 120 -u "$ready" image
	same ready "$image" 'the upstream'
	cp "$up/ca.pem" /etc/benchmon/ca.pem
	define_all
	bm ls
	did
	make_bench u1 --rootfs "$tmp/mnt"
	bm grant u1 broker model --yes
	did 'u1/1 granted' 'upstream  model.test:443'
	bm grant u1 broker forge --upstream model.test --yes
	did 'u1/2 granted' 'at        http://forge.broker'
}

teardown() {
	bm destroy u1
	did
	kill "$(<"$tmp/upstream")"
	mkdir -p "$state/profiles"
	touch "$state/seal.key"
	resolver_down
	umount "$tmp/mnt"
	rmdir "$tmp/mnt"
	rm -r "$up" "$tmp/upstream"
}

repository() {
	local identity=(-c user.name=a -c user.email=a@a.test -c safe.directory='*')
	git "${identity[@]}" init -q -b main "$up/work"
	echo one >"$up/work/file"
	git "${identity[@]}" -C "$up/work" add file
	git "${identity[@]}" -C "$up/work" commit -qm first
	git "${identity[@]}" clone -q --bare "$up/work" "$up/org/tool.git"
	git "${identity[@]}" -C "$up/org/tool.git" config http.receivepack true
}

define_broker() { # NAME PORT LIMITS
	printf '{"name":"%s","description":"for the test","upstream":{"host":"model.test","port":%d},
		"ca":"/etc/benchmon/ca.pem","credential":{"header":"authorization","before":"Bearer "},
		"allow":[{"method":"POST","path":"/v1/*","query":["beta=true"]},{"method":"GET","path":"/v1/*"},
			{"method":"PUT","path":"/v1/taken"}],
		"headers":["x-size","x-wait"],"environment":{"MODEL_URL":"{url}","MODEL_KEY":"held-by-the-broker"},
		"limits":%s,"verify":{"method":"GET","path":"/v1/plain"}}\n' "$@" >"/etc/benchmon/brokers/$1.json"
	(umask 077 && printf '%s\n' "$secret" >"/etc/benchmon/credentials/$1")
}

# As they are installed, with our CA, and where that is more what is pushed.
define_all() {
	define_broker model 443 '{"rate":6000,"concurrent":8,"seconds":300}'
	jq '.ca = "/etc/benchmon/ca.pem" | .allow += [{"method":"GET","path":"/*/*/info/refs",
		"query":["service=git-receive-pack"]},{"method":"POST","path":"/*/*/git-receive-pack"}]' \
		"$repo/profiles/brokers/forge.json" >/etc/benchmon/brokers/forge.json
	(umask 077 && printf '%s\n' "$secret" >/etc/benchmon/credentials/forge)
}

inside() { # BENCH PROGRAM ARGUMENT...
	bm exec "$1" -- timeout 120 python3 -S -c "$(<"$e2e/inside/$2.py")" "${@:3}"
}

brokers() { # their pids, into $pids
	local path comm
	pids=()
	for path in /proc/[0-9]*; do
		read -r comm <"$path/comm" || continue
		[[ $comm != benchmon-broker ]] || pids+=("${path#/proc/}")
	done 2>/dev/null
}

# Of a Bench made for one case; its process is $broker, what was there already stands in $before.
one_broker() { # BROKER [OPTION...]
	make_bench e1 --rootfs "$tmp/mnt"
	brokers
	before=" ${pids[*]} "
	bm grant e1 broker "$@" --yes
	did 'e1/1 granted'
	newest
}

newest() {
	local pid
	brokers
	broker=
	for pid in "${pids[@]}"; do
		[[ $before == *" $pid "* ]] || broker=$pid
	done
	[[ -n $broker ]]
}

events() { # BENCH WORDS...
	bm events --bench "$1"
	did "${@:2}"
}

runs() {
	bm show e1 --format json
	[[ $out == *'"runs":true'* ]]
}

asked_by() { # HEADER: how often
	grep -ciF "\"authorization\", \"$1\"" "$up/asked" || :
}
