# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# What is for looking at: ls, show, top, a diagram; and what run says when it has ended.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${server:?}"

# Names, colours, sizes of the terminal, a daemon that goes: of one that says what it is told to.
case_screens() {
	py look fake
}

case_top() {
	make_bench v1
	py look top v1 "$server"
	bm grant v1 net "$server:8080" --yes
	did granted
	bm exec v1 -- bash -c "cat </dev/tcp/$server/8080"
	did
	bm top --once
	did BENCH v1
	narrow
	bm top --format json
	key egress_bytes
	# A connection that was opened, answered and closed is some packets, of 40 bytes at least.
	[[ $value -ge 120 && $value -le 4000 ]] || fail "$value bytes left it"
	bm show v1
	did 'egress     '
	stop_daemon
	rm -f /var/log/benchmon/benchmon.prom
	bm ls
	did v1
	soon test -e /var/log/benchmon/benchmon.prom
	grep -qx "benchmon_egress_bytes_total{bench=\"v1\"} $value" /var/log/benchmon/benchmon.prom ||
		fail "$(<"/var/log/benchmon/benchmon.prom")"
	bm destroy v1
	did
	# The next one begins anew.
	make_bench v2
	bm top --format json
	did '"name":"v2"' '"egress_bytes":0'
	bm destroy v2
	did
	bm top --once
	did 'no Benches'
}

case_mermaid() {
	mkdir "$disk/drawn"
	make_bench d1
	bm grant d1 file "$disk/drawn:/in/drawn" --yes
	did granted
	bm grant d1 net "$server:8080" --yes
	did granted
	bm exec d1 -- bash -c "cat </dev/tcp/$server/8081"
	ended 1
	bm exec d1 -- touch '/in/drawn/"]x'
	ended 1
	bm show d1 --format mermaid
	did 'flowchart LR' 'bench(("d1<br>ready"))' "g1[\"d1/1 file ro<br>$disk/drawn\"]" \
		'bench -->|"/in/drawn"| g1' "g2{{\"d1/2 net<br>$server:8080\"}}" 'bench --> g2' \
		"[\"$server:8081/tcp\"]:::denied" 'bench -.->|"1 x connect4<br>not-sealed"|'
	bm ls --format mermaid
	refused 2 'mermaid'
	bm destroy d1
	did
	rmdir "$disk/drawn"
}
