# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# This kernel can enforce: else none of these cases would mean anything.
: "${e2e:?}"

case_says_so() {
	bm doctor
	did "kernel $(uname -r)" 'This kernel can enforce.'
	[[ $out != *FAILED* && $out != *'not tried'* ]] || fail 'a check failed'
	narrow
	# What a kernel has and what not differs; these differ between the two that are tested.
	did $'\non                     ' ' file_open' $'\non-demand              ' ' file_permission' \
		$'\nper-bench              ' $'\nabsent                 '
}

# file_truncate came with 6.2, and took over from path_truncate what is cut by its descriptor.
case_hooks() {
	local expected=on
	[[ $(uname -r) != 6.1.* ]] || expected=absent
	bm doctor --format json
	did "{\"hook\":\"file_truncate\",\"state\":\"$expected\"}" '{"hook":"file_open","state":"on"}' \
		'{"hook":"inode_permission","state":"on-demand"}' '{"hook":"connect4","state":"per-bench"}'
}

case_in_json() {
	bm doctor --format json
	did "\"kernel\":\"$(uname -r)\"" '"can_enforce":true' '"result":"ok"'
	[[ $out != *'"failed"'* && $out != *'"not-tried"'* ]] || fail 'a check failed'
	cp "$tmp/out" "$tmp/json"
	py jsonlines "$tmp/json"
	rm "$tmp/json"
	bm doctor x
	refused 2 'doctor: one argument too many: x'
}

# Without what it needs it says that, and nothing else.
case_without_capabilities() {
	capture setpriv --bounding-set -bpf,-perfmon "$(command -v benchmon)" doctor </dev/null
	same 1 "$code" 'the exit code'
	printed 'FAILED' 'missing capabilities: CAP_BPF, CAP_PERFMON' "This kernel can't enforce"
	same 1 "$(grep -c FAILED <<<"$out")" 'the number of failures'
}
