# shellcheck shell=bash disable=SC2034,SC2154
# The layers between a Bench and the network, on the host's side too, and what a revocation says.
: "${tmp:?}" "${server:?}"

link_of() { # BENCH: the table at the host's end of its link
	bm show "$1" --format json
	key id
	link=benchmon_bm$value
}

refused_by() { # KEY: how much that layer has refused, after `show --format json`
	value=$(jq ".refused.$1" "$tmp/out")
}

tables() {
	nft list tables | grep -c benchmon_
}

case_host_end() {
	local link before
	make_bench e1
	bm show e1 --format json
	did '"refused":{"bpf":0,"nft":'
	[[ $out != *'"link":'* ]] || fail 'a link without a grant'
	bm grant e1 net "$server:8080" --yes
	did granted
	link_of e1
	printed '"link":0'
	before=$(nft -s list table inet "$link")
	[[ $before == *"iifname \"${link#benchmon_}\""*"$server . tcp . 8080"* ||
		$before == *"$server . tcp . 8080"*"iifname \"${link#benchmon_}\""* ]] || fail "$before"
	stop_daemon KILL
	bm show e1
	did 'state      ready' 'packets    refused ' ' by BPF, ' " by nft, 0 at the host's end"
	same "$before" "$(nft -s list table inet "$link")" 'its table after a crash'
	stop_daemon
	nft delete table inet "$link"
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8080"
	did 'hello from 8080'
	same "$before" "$(nft -s list table inet "$link")" 'its table, made anew'
	bm grant e1 net "$server:8081" --yes
	did granted
	bm revoke e1/1
	did 'e1/1 revoked'
	[[ $(nft list table inet "$link") != *8080* ]] || fail 'the element stays'
	bm revoke e1 --all
	did 'e1/2 revoked'
	same 0 "$(tables)" 'tables on the host'
	bm destroy e1
	did
}

# Each layer counts what it has refused itself.
case_counted() {
	local link before init
	make_bench e1
	bm grant e1 net "$server:8080" --yes
	did granted
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8081"
	link_of e1
	refused_by bpf
	same 1 "$value" 'refused by BPF'
	refused_by link
	same 0 "$value" 'refused on the host'
	refused_by nft
	before=$value
	init_of e1
	init=$value
	# From outside of the Bench's cgroup, in its network: nft alone is asked.
	capture timeout 2 nsenter -t "$init" -n bash -c "cat </dev/tcp/$server/8081"
	bm show e1 --format json
	refused_by nft
	((value > before)) || fail "refused by nft: $value, and $before before"
	nsenter -t "$init" -n nft delete table inet benchmon
	capture timeout 2 nsenter -t "$init" -n bash -c "cat </dev/tcp/$server/8081"
	bm show e1 --format json
	refused_by link
	((value > 0)) || fail 'nothing was refused on the host'
	refused_by nft
	same null "$value" 'refused by a table that is not there'
	bm destroy e1
	did
}

case_ended() {
	local waiting
	make_bench e1
	bm grant e1 net "$server:8080" --yes
	did granted
	mkfifo "$tmp/said"
	benchmon exec e1 -- bash -c "exec 5<>/dev/tcp/$server/8080 && echo open && sleep infinity" \
		</dev/null >"$tmp/said" 2>&1 &
	waiting=$!
	exec {fd}<"$tmp/said"
	line_from "$fd" out
	same open "$out"
	bm revoke e1/1
	did 'e1/1 revoked' '  connections ended: 1'
	bm revoke e1 --all --format json
	did '"sockets":0'
	grep -q '"event":"revoke".*"sockets":1' /var/lib/benchmon/ledger.jsonl || fail 'the ledger has it not'
	bm destroy e1
	did
	wait $waiting || :
	exec {fd}<&-
	rm "$tmp/said"
}

# What the host's own rules would swallow is said, by the grant and by doctor, until it is amended.
full_case_swallowed() {
	make_bench e1
	printf 'table inet e2e-strict {\n\tchain way {\n\t\t%s\n\t}\n}\n' \
		'type filter hook forward priority 5; policy drop;' >"$tmp/rules"
	nft -f "$tmp/rules"
	bm grant e1 net "$server:8080" --yes
	ended 0
	[[ $err == *'benchmon: warning: chain way of nftables table inet e2e-strict drops what is forwarded'*"; \
nft insert rule inet e2e-strict way iifname 'bm*' accept && nft insert rule inet e2e-strict way oifname 'bm*' accept" ]] ||
		fail "$err"
	bm exec e1 -- timeout 2 bash -c "cat </dev/tcp/$server/8080"
	same '' "$out"
	bm doctor
	ended 0
	printed 'forwarding             FAILED' 'chain way of nftables table inet e2e-strict'
	nft insert rule inet e2e-strict way iifname 'bm*' accept
	nft insert rule inet e2e-strict way oifname 'bm*' accept
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8080"
	did 'hello from 8080'
	bm doctor
	did 'forwarding             ok'
	bm grant e1 net "$server:8081" --yes --format json
	did '"id":"e1/2"'
	[[ $out != *warnings* ]] || fail 'it still warns'
	bm destroy e1
	did
	nft delete table inet e2e-strict
	rm "$tmp/rules"
	bm doctor
	did 'can enforce'
	[[ $out != *forwarding* ]] || fail 'it looks for what nobody needs'
}
