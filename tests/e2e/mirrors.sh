# shellcheck shell=bash disable=SC2034,SC2154
# Mirrors beyond the host, and an image that is set up for them as an operator would: apt, pip, npm and git
# over TLS, from a CA of the test's own.
: "${e2e:?}" "${repo:?}" "${tmp:?}"

# shellcheck source=tests/e2e/resolver.sh
. "$e2e/resolver.sh"

# Where each is served; registry.test has IPv6 alone. The image's nameserver is never there.
declare -A at=([apt]='198.51.100.21 2001:db8:51::21' [pip]='198.51.100.22' [npm]='2001:db8:51::23'
	[git]='198.51.100.24 2001:db8:51::24')
declare -A site=([apt]=repo.test [pip]=index.test [npm]=registry.test [git]=forge.test)
read -ra addresses <<<"${at[*]}"
nameserver=198.51.100.53
home=/root

each_address() { # replace|delete
	local address
	echo "address $1 2001:db8:51::10/64 dev e2e1 nodad"
	for address in "${addresses[@]}"; do
		[[ $address == *:* ]] && address+='/64 dev e2e1 nodad' || address+='/24 dev e2e1'
		echo "address $1 $address"
	done
}

mirrors_up() {
	local ready name address kind listen=()
	: >"$tmp/zone"
	for name in "${!at[@]}"; do
		for address in ${at[$name]}; do
			[[ $address == *:* ]] && kind=AAAA || kind=A
			echo "${site[$name]} 60 $kind $address" >>"$tmp/zone"
			listen+=("$address:443" "$address:8443")
		done
	done
	ip address replace 2001:db8:51::1/64 dev e2e0 nodad
	each_address replace | ip -n e2e-world -batch -
	resolver_up
	certified
	rm -rf "$tmp/sites"
	mkdir "$tmp/sites"
	py mirrors "$tmp/sites"
	signed
	exec {ready}< <(exec ip netns exec e2e-world python3 -B -S -s "$e2e/helpers/mirror.py" \
		"$tmp/sites" "$tmp/pem" "${site[git]}" "${listen[@]}")
	line_from "$ready" _
	echo $! >"$tmp/mirror"
}

mirrors_down() {
	local pid
	read -r pid <"$tmp/mirror"
	kill -KILL "$pid"
	soon gone "$pid"
	each_address delete | sed 's/ nodad$//' | ip -n e2e-world -batch -
	ip address delete 2001:db8:51::1/64 dev e2e0
	rm -r "$tmp/sites" "$tmp/ca.pem" "$tmp/pem" "$tmp/mirror"
	resolver_down
}

certificate() { # SUBJECT FILE OPTION...: the key is in the file too
	openssl req -x509 -config <(printf '[req]\ndistinguished_name=dn\n[dn]\n') -days 30 -nodes \
		-newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj "/CN=$1" -keyout "$2.key" -out "$2" \
		"${@:3}" 2>"$tmp/err" || fail "no certificate: $(<"$tmp/err")"
	cat "$2.key" >>"$2"
	rm "$2.key"
}

# Also for the addresses: whoever asks by one is to fail at the Bench's walls, and not before.
certified() {
	local names='' name
	for name in "${site[@]}"; do
		names+=",DNS:$name"
	done
	for name in "${addresses[@]}"; do
		names+=",IP:$name"
	done
	certificate test "$tmp/ca.pem" -addext basicConstraints=critical,CA:TRUE \
		-addext keyUsage=critical,keyCertSign
	certificate mirrors "$tmp/pem" -CA "$tmp/ca.pem" -CAkey "$tmp/ca.pem" \
		-addext "subjectAltName=${names:1}" -addext basicConstraints=CA:FALSE
}

signed() {
	local dist=$tmp/sites/repo.test/debian/dists/stable
	export GNUPGHOME=$tmp/gpg
	mkdir -m 700 "$GNUPGHOME"
	{
		gpg --batch --passphrase '' --quick-generate-key test@repo.test ed25519 sign 1d
		gpg --batch --output "$dist/InRelease" --clearsign "$dist/Release"
		gpg --batch --output "$tmp/sites/key.gpg" --export test@repo.test
		gpgconf --kill all
	} >"$tmp/out" 2>"$tmp/err" || fail "not signed: $(<"$tmp/err")"
	rm -r "$GNUPGHOME"
	unset GNUPGHOME
}

# A copy, mounted at $tmp/mnt: a Bench's root file system is one that can be idmapped.
image_up() {
	local image
	image=$("$repo/tools/rootfs" install) || fail 'no image to install in'
	cp --sparse=always "$image" "$tmp/install.ext4"
	mkdir "$tmp/mnt"
	mount -o loop "$tmp/install.ext4" "$tmp/mnt"
	set_up "$tmp/mnt"
	mount -o remount,ro "$tmp/mnt"
}

image_down() {
	umount "$tmp/mnt"
	rmdir "$tmp/mnt"
	rm "$tmp/install.ext4"
}

set_up() { # ROOT
	local ca=/etc/ssl/certs/ca-certificates.crt
	openssl x509 -in "$tmp/ca.pem" >>"$1$ca"
	cp "$tmp/sites/key.gpg" "$1/etc/apt/keyrings/test.gpg"
	: >"$1/etc/apt/sources.list"
	printf '%s\n' 'Types: deb' "URIs: https://${site[apt]}/debian" 'Suites: stable' 'Components: main' \
		'Signed-By: /etc/apt/keyrings/test.gpg' >"$1/etc/apt/sources.list.d/test.sources"
	printf '%s\n' '[global]' "index-url = https://${site[pip]}/simple" 'retries = 0' >"$1/etc/pip.conf"
	printf '%s\n' "registry=https://${site[npm]}/" "cafile=$ca" 'fetch-retries=0' >"$1$home/.npmrc"
	echo "nameserver $nameserver" >"$1/etc/resolv.conf"
}
