# shellcheck shell=bash disable=SC2034,SC2154
# Who is in no Bench notices nothing: a long list of calls comes out the same without benchmon, with
# it, and with Benches that hold the very directory.
: "${e2e:?}" "${repo:?}" "${tmp:?}" "${disk:?}"

setup() {
	mkdir "$disk/shared" "$tmp/mnt"
	stop_daemon
	capture gatekeeperd --unload --force
	did
	[[ ! -e /sys/fs/bpf/benchmon ]] || fail 'it is still loaded'
	used "$tmp/wanted"
	bm ls
	did
	[[ -e /sys/fs/bpf/benchmon ]] || fail 'it is not loaded again'
}

teardown() {
	rm -r "$disk/shared" "${tmp:?}/mnt" "$tmp/wanted"
}

# On a disk and in a tmpfs. What it left stays until the next begins, to be seen from a Bench.
used() { # FILE
	local dir
	for dir in "$disk/shared" "$tmp/mnt"; do
		rm -rf "${dir:?}"/*
		capture "$repo/build/e2e/bystander" "$dir"
		did 'SIOCGIFCONF: 0'
		[[ $(grep -c . <<<"$out") -gt 200 ]] || fail 'it has not done its work'
		cat "$tmp/out"
	done >"$1"
}

same_as_without() {
	used "$tmp/got"
	diff "$tmp/wanted" "$tmp/got" || fail 'not as without benchmon'
	rm "$tmp/got"
}

case_loaded() {
	same_as_without
}

case_granted() {
	make_bench e1
	make_bench e2
	bm grant e1 file "$disk/shared" --yes
	did 'e1/1 granted'
	bm grant e2 file "$disk/shared:/out:rw" --yes
	did 'e2/1 granted'
	same_as_without
	# They have what was worked on, and as far as that.
	bm exec e1 -- sh -c 'test -s /in/shared/prog && ! (: >>/in/shared/moved) 2>/dev/null'
	did
	bm exec e2 -- sh -c 'test -s /out/prog && : >>/out/moved && ! /out/prog --exit 2>/dev/null'
	did
	bm revoke e1/1
	did
	same_as_without
	bm destroy e1
	did
	bm destroy e2
	did
}
