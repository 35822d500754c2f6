# shellcheck shell=bash disable=SC2034,SC2154
# An overlay in a Bench is what it is outside: the same operations in a container that is left alone
# and in one that is attached say the same, and leave the same in the tree and in its upper layer.
: "${e2e:?}" "${repo:?}" "${tmp:?}" "${disk:?}"

# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"

setup() {
	local kind
	mkdir -p /sys/fs/cgroup/e2e
	for kind in plain userns; do
		mkdir -p "$disk/lower.$kind"/{tree,dev,proc,sys,vol}
		cp "$repo/build/e2e/layers" "$disk/lower.$kind/"
		"$repo/build/e2e/layers" make "$disk/lower.$kind/tree"
	done
	chown -Rh 300000:300000 "$disk/lower.userns"
	chmod 6755 "$disk/lower.userns/tree/setid"
}

teardown() {
	rmdir /sys/fs/cgroup/e2e
	rm -r "$disk"/lower.* "$disk/vol"
}

layered() { # NAME KIND OPTIONS
	local dir=$tmp/c/$1
	mkdir -p "$dir/rootfs" "$disk/$1"/{upper,work}
	[[ $2 == plain ]] || chown 300000:300000 "$disk/$1/upper"
	mount -t overlay -o "lowerdir=$disk/lower.$2,upperdir=$disk/$1/upper,workdir=$disk/$1/work,$3" \
		e2e "$dir/rootfs"
	configured "$1" "$2" '.process.capabilities[] = ["CAP_CHOWN", "CAP_DAC_OVERRIDE",
		"CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETFCAP"]' /layers wait /
	created "$1"
	started "$1"
}

# What the program said, and what there is then; gone afterwards.
used() { # NAME FILE
	in_container "$1" /layers run /tree
	did
	cp "$tmp/out" "$2"
	py tree "$tmp/c/$1/rootfs/tree" "$disk/$1/upper/tree"
	cat "$tmp/out" >>"$2"
}

over() { # KIND OPTIONS
	layered free "$1" "$2"
	used free "$tmp/wanted"
	removed free
	rm -r "$disk/free"
	layered walled "$1" "$2"
	bm attach a1 walled
	did
	used walled "$tmp/got"
	bm show a1 --format json
	key denied
	[[ $value -eq 0 ]] || {
		benchmon events --bench a1
		fail "$value denials"
	}
	bm detach a1
	did
	removed walled
	rm -r "$disk/walled"
	diff "$tmp/wanted" "$tmp/got" || fail 'it is not as outside'
	slurp "$tmp/got" out
	rm "$tmp/wanted" "$tmp/got"
	# It has been an overlay: copied up, whited out, opaque.
	printed 'through a link: 0' 'trusted.overlay.origin=...' 'trusted.overlay.opaque=79' \
		$'\ngone c 0 0:0 0:0\n'
}

# The files root's own; with E2E_FULL also those of a user namespace's root.
case_copied() {
	local kind
	for kind in plain ${E2E_FULL:+userns}; do
		over "$kind" redirect_dir=off,metacopy=off
		printed 'rename dir: EXDEV'
	done
}

# And the other way round.
case_metacopy() {
	local kind
	for kind in userns ${E2E_FULL:+plain}; do
		over "$kind" redirect_dir=on,metacopy=on
		printed 'rename dir: 0' trusted.overlay.metacopy= trusted.overlay.redirect=
	done
}
