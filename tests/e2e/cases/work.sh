# shellcheck shell=bash disable=SC2034,SC2154
# Ordinary work in a Debian Bench, in its scratch directory and in what was granted: it comes out as
# it should, and nothing of it is denied.
: "${e2e:?}" "${repo:?}" "${tmp:?}" "${disk:?}" "${server:?}"

setup() {
	local image
	image=$("$repo/tools/rootfs" work) || fail 'no image to work in'
	mkdir "$tmp/mnt"
	mount -o loop,ro "$image" "$tmp/mnt"
	# The repository's own file system may be none that can be idmapped.
	mkdir "$disk/out" "$disk/out/repo"
	cp -r "$e2e/work" "$disk/jobs"
	make_bench w1 --rootfs "$tmp/mnt"
	bm grant w1 file "$disk/jobs" --yes
	did 'w1/1 granted'
	bm grant w1 file "$disk/out:/out:rw" --yes
	did 'w1/2 granted'
	bm grant w1 net "$server:8082" --yes
	did 'w1/3 granted'
	ip netns exec e2e-world busybox httpd -f -p "$server:8082" -h "$disk/out/repo" &
	echo $! >"$tmp/httpd"
	soon answers
}

teardown() {
	kill "$(<"$tmp/httpd")"
	bm destroy w1
	did 'w1 destroyed, denied in it: 0'
	umount "$tmp/mnt"
	rmdir "$tmp/mnt"
	rm -r "$disk/out" "$disk/jobs" "$tmp/httpd"
}

answers() {
	(: <"/dev/tcp/$server/8082") 2>/dev/null
}

denied() { # COUNT
	bm show w1 --format json
	key denied
	[[ $value -eq $1 ]] || {
		benchmon events --bench w1
		fail "$value denials, not $1"
	}
}

# The last line of a job is its word that all came out as it should. In what is granted; with
# E2E_FULL in the scratch directory too.
job() { # WORD INTERPRETER JOB [ARGUMENT...]
	local place
	for place in /out ${E2E_FULL:+/work}; do
		bm exec w1 -- "$2" "/in/jobs/$3" "$place" "${@:4}"
		[[ $code -eq 0 && $out == *"$1" ]] || {
			benchmon events --bench w1
			fail "it did not say $1"
		}
		denied 0
	done
}

case_build() {
	# What is granted is never executed: it runs from /work.
	job built bash build /work
}

case_git() {
	job committed bash git
}

case_archive() {
	job archived bash archive
}

case_shell() {
	job typed bash shell
}

case_sqlite() {
	job stored bash sqlite
}

case_python() {
	job computed python3 python.py
}

case_node() {
	job compiled node node.js -601855504
}

full_case_packages() {
	job packaged bash packages "http://$server:8082"
}
