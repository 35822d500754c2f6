# shellcheck shell=bash disable=SC2034,SC2154
# What a profile is for: with apt, pip, npm or git sealed from the image and granted alone, its
# ordinary client installs a package from its mirror over TLS; and nothing else gets anywhere.
: "${e2e:?}" "${repo:?}" "${tmp:?}"

# shellcheck source=tests/e2e/mirrors.sh
. "$e2e/mirrors.sh"

# In a Bench of its own, as its user would; and what has nothing left to take from.
declare -A fetch=(
	[apt]='apt-get -q update --error-on=any && apt-get -qy install greeter && greeter'
	[pip]='pip install -q --break-system-packages greeter && python3 -c "import greeter"'
	[npm]='cd /work && npm install greeter && node -e "require(\"greeter\")"'
	[git]='git clone -q https://forge.test/greeter.git /work/greeter && cat /work/greeter/words')
declare -A again=(
	[apt]='apt-get -q update --error-on=any'
	[pip]='pip download -q --no-cache-dir -d /tmp greeter'
	[npm]='mkdir /tmp/npm && cd /tmp/npm && npm install --cache /tmp/npm/cache greeter'
	[git]='git clone -q https://forge.test/greeter.git /tmp/greeter')
declare -A from=([apt]=/etc/apt/sources.list.d/test.sources [pip]=/etc/pip.conf [npm]="$home/.npmrc")

ipv6=$(</proc/sys/net/ipv6/conf/all/forwarding)

setup() {
	local name
	mirrors_up
	image_up
	cp "$repo"/profiles/{apt,pip,npm}.json /etc/benchmon/profiles/
	chmod 644 /etc/benchmon/profiles/*
	chown 0:0 /etc/benchmon/profiles/*
	define git '{"host":"forge.test","protocol":"tcp","port":443,"why":"clones","uploads":true}'
	for name in apt pip npm; do
		bm profile seal $name --rootfs "$tmp/mnt" --yes
		did "${site[$name]} port 443/tcp, found by $name: ${from[$name]}" "$name sealed until "
	done
	bm profile seal git --yes
	did 'git sealed until '
}

teardown() {
	forwards_ipv6 "$ipv6"
	image_down
	mirrors_down
}

listen() {
	exec {heard}< <(exec python3 -B -S -s "$e2e/helpers/sniff.py")
	sniffer=$!
	line_from "$heard" _
}

# At the host's end of the Bench's link there was nothing but what is sealed, and some of that.
heard_only() { # PROFILE
	local line address sealed=
	for address in ${at[$1]}; do
		sealed+="tcp $address 443;"
	done
	kill "$sniffer"
	mapfile -t lines <&"$heard"
	exec {heard}<&-
	[[ ${#lines[@]} -gt 0 ]] || fail 'nothing came out'
	for line in "${lines[@]}"; do
		[[ $sealed == *"$line;"* ]] || fail "it came out: $line"
	done
}

denials() {
	bm show i1 --format json
	key denied
}

# By the nameserver that the image names, since the name is not in its hosts.
fetches_not() { # PROFILE
	local before
	denials
	before=$value
	bm exec i1 -- sh -c "${again[$1]}"
	[[ $code -ne 0 ]] || fail "$1 is not closed"
	denials
	((value > before)) || fail "benchmon has not denied $1"
}

gateways() {
	init_of i1
	nsenter -t "$value" -n ip -j route show default | jq -r '.[].gateway'
	nsenter -t "$value" -n ip -j -6 route show default | jq -r '.[].gateway'
}

# PROTOCOL ADDRESS PORT of what must not be reached.
elsewhere() { # PROFILE
	local name address
	for name in "${!at[@]}"; do
		for address in ${at[$name]}; do
			[[ $name == "$1" ]] || echo "tcp $address 443"
			printf '%s\n' "tcp $address 8443" "tcp $address 80" "udp $address 443"
		done
	done
	for address in $(gateways); do
		printf '%s\n' "tcp $address 443" "udp $address 53"
	done
	printf '%s\n' "tcp $nameserver 53" "udp $nameserver 53" 'tcp 198.51.100.99 443' \
		'tcp 2001:db8:51::99 443' 'tcp 169.254.169.254 80' 'tcp 198.51.100.1 443' \
		'tcp 2001:db8:51::1 443' 'tcp 10.99.0.1 22'
}

# Each is refused to the caller, and each is an event.
nowhere() { # LIST, as of elsewhere()
	local words protocol address port refused
	read -rd '' -a words <"$1" || :
	bm exec i1 -- python3 -c "$(<"$e2e/work/ways.py")" "${words[@]}"
	did
	same "$(sed 's/$/ EPERM/' "$1")" "$out" 'what came of it'
	bm events --bench i1 --format json
	refused=" $(jq -r '.destination // empty' "$tmp/out" | xargs) "
	while read -r protocol address port; do
		[[ $address != *:* ]] || address="[$address]"
		[[ $refused == *" $address:$port/$protocol "* ]] || fail "no event of $address:$port/$protocol"
	done <"$1"
}

alone() { # PROFILE OTHER...: of which none comes
	local name address
	make_bench i1 --rootfs "$tmp/mnt"
	listen
	bm grant i1 net "$1" --yes
	did "granted: profile $1, until "
	bm exec i1 -- sh -c "${fetch[$1]}"
	[[ $code -eq 0 && $out == *"hello from $1" ]] || {
		benchmon events --bench i1
		fail "it was not installed"
	}
	for name in "${@:2}"; do
		fetches_not "$name"
	done
	elsewhere "$1" >"$tmp/ways"
	nowhere "$tmp/ways"
	bm revoke i1 --all
	did revoked
	fetches_not "$1"
	for address in ${at[$1]}; do
		echo "tcp $address 443"
	done >"$tmp/ways"
	nowhere "$tmp/ways"
	heard_only "$1"
	rm "$tmp/ways"
	bm destroy i1
	did
}

case_apt() {
	alone apt pip npm git
}

# It takes long, as npm does, and comes by the same way as apt.
full_case_pip() {
	alone pip git
}

case_git() {
	alone git apt
}

# A host that has IPv6 alone, on a machine that doesn't forward it; where it does, all take that first.
# It takes as long as all the others.
full_case_npm() {
	[[ $ipv6 -eq 1 ]] || {
		out_of_reach
		[[ -e /run/vm/guest ]] || return 0
		forwards_ipv6 1
	}
	alone npm git
	forwards_ipv6 "$ipv6"
}

out_of_reach() {
	local told='[2001:db8:51::23]:443/tcp lies beyond e2e0, and this host does not forward IPv6'
	make_bench i1
	bm grant i1 net npm --yes
	ended 125
	[[ $err == "benchmon: $told (rule: benchmon does not turn on IPv6 forwarding); give an IPv4 address, or set "* ]] ||
		fail 'it does not say why'
	bm show i1
	did 'grants     none'
	define both "$(printf '{"host":"%s","protocol":"tcp","port":443,"why":"x"},' \
		"${site[git]}" "${site[npm]}" | sed 's/,$//')"
	bm profile seal both --yes
	did
	bm grant i1 net both --yes
	ended 0
	[[ $err == "benchmon: warning: registry.test: $told; give an IPv4 address, or set "* &&
		$err != *forge.test* ]] || fail 'it does not warn of the one, or of another'
	bm destroy i1
	did
}

forwards_ipv6() { # 0|1
	echo "$1" >/proc/sys/net/ipv6/conf/all/forwarding
}
