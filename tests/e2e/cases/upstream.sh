# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# The broker itself, between programs as people have them in a Bench and an upstream with TLS beyond the
# host: what comes through, what ends it, and that its credential is nowhere.
: "${e2e:?}" "${repo:?}" "${tmp:?}" "${server:?}"

# shellcheck source=tests/e2e/upstream.sh
. "$e2e/upstream.sh"

# Each event is said when the one before it has been heard.
case_streaming() {
	inside u1 sdk
	did
	same $'200 text/event-stream; charset=utf-8\nword 0\nword 1\nword 2\nended' "$out"
	events u1 'u1/1  CALL POST /v1/messages 200 of model' 'CALL POST /v1/go 200 of model, 2 out, 2 back'
}

case_curl() {
	bm exec u1 -- timeout 120 bash -c '
		curl="curl -sS --max-time 60" url=$MODEL_URL/v1
		$curl "$url/plain"; echo
		head -c 300000 /dev/zero | $curl -T - "$url/taken"
		$curl -d hello "$url/plain?beta=true"; echo
		$curl -w "%{http_code} %{redirect_url}\n" "$url/away"
		$curl -o /dev/null -w "%{http_code} %{redirect_url}\n" "$url/here"
		$curl -w "%{http_code}\n" "$url/fail"
		$curl -w "%{http_code}\n" -X DELETE "$url/plain"
		$curl -w "%{http_code}\n" "$MODEL_URL/v2/plain"
		$curl -w "%{http_code}\n" "$url/plain?key=x"
		$curl --path-as-is -w "%{http_code}\n" "$url/../v1/plain"
		$curl -D - "$url/echo" | tr -d "\r" | grep -i you'
	did $'plain\n' "300000 $(head -c 300000 /dev/zero | sha256sum | cut -d ' ' -f 1)" $'\nhello\n' \
		'"rule":"broker-redirect"' $'}}502 \n' $'302 http://model.broker/v1/plain\n' 'it broke' $'\n500\n' \
		'"rule":"broker-route"' $'405\n' $'403\n' '"rule":"broker-query"' '"rule":"broker-path"' $'400\n' \
		"x-you-are: $(x ${#secret} | tr x '*')" "you are $(x ${#secret} | tr x '*'), "
	[[ $out != *e2e-Zq7* ]] || fail 'it hears the credential'
	events u1 'CALL GET /v1/plain 200 of model, 0 out, 5 back' 'CALL PUT /v1/taken 200 of model, 300000 out' \
		'CALL GET /v1/away 502 of model' 'CALL GET /v1/fail 500 of model, 0 out, 9 back' \
		'CALL DELETE /v1/plain 405 of model' '(refused: broker-route)' '(refused: broker-query)' \
		'(refused: broker-path)'
	bm broker verify model
	did "model: answered 200 from $server"
}

# By the address that people know; what it takes to be let in, git never has.
case_git() {
	bm exec u1 -- timeout 200 bash -ec 'cd /work; export HOME=/work GIT_TERMINAL_PROMPT=0
		git config --global user.name a; git config --global user.email a@a.test
		git clone -q https://model.test/org/tool.git; cat tool/file
		echo two >>tool/file; git -C tool commit -qam second; git -C tool push -q origin main
		git -C tool fetch -q; git -C tool log --format=%s origin/main; git -C tool remote -v'
	did $'one\nsecond\nfirst\n' 'http://forge.broker/org/tool.git (push)'
	same second "$(git -c safe.directory='*' -C "$up/org/tool.git" log -1 --format=%s main)" 'what was pushed'
	events u1 'u1/2  CALL GET /org/tool.git/info/refs 200 of forge' 'CALL POST /org/tool.git/git-receive-pack 200 of forge'
	[[ $(asked_by "Basic $(printf %s "oauth2:$secret" | base64 -w 0)") -gt 3 ]] || fail 'it was let in without'
}

# In the midst of an answer, of a body that is sent, and of a head that has not ended.
case_revoked() {
	local fd line other broker before
	one_broker model
	exec {fd}< <(exec benchmon exec e1 -T -- bash -c '
		exec 5<>/dev/tcp/model.broker/80 6<>/dev/tcp/model.broker/80
		printf "GET /v1/pl" >&5
		printf "PUT /v1/taken HTTP/1.1\r\nHost: model.broker\r\nContent-Length: 9000\r\n\r\nsome" >&6
		curl -sSN "$MODEL_URL/v1/endless"; echo "curl $?"
		for fd in 5 6; do
			cat <&$fd 2>&1; printf more >&$fd && echo sent
		done 2>&1
		curl -sS "$MODEL_URL/v1/plain" 2>&1; echo "curl $?"' 2>&1)
	line_from "$fd" line
	same 'data: more' "$line"
	bm revoke e1/1
	did 'e1/1 revoked'
	[[ ! -e /proc/$broker ]] || fail 'its process is left'
	while read -rt 60 -u "$fd" line; do
		[[ $line != 'data: more' && -n $line ]] || continue
		other+=$line$'\n'
	done
	[[ $other == *'curl '[1-9]* && $other != *sent* && $other != *'curl 0'* ]] || fail "they go on: $other"
	grep -q '"event":"revoke"' "$state/ledger.jsonl"
	bm destroy e1
	did
}

# A core of whoever leaves one; such as this shell.
catch_cores() { # PATTERN
	echo "$1" >/proc/sys/kernel/core_pattern
	(
		ulimit -c unlimited
		exec bash -c 'kill -SEGV $$'
	) || :
	soon test -s "$tmp/core.bash"
	rm "$tmp/core.bash"
}

# By a signal that would leave a core, for a program and in a file; each time the wait is longer.
case_crash() {
	local broker before signal began times=()
	one_broker model
	printf '#!/bin/sh\nexec cat >"%s/core.$1"\n' "$tmp" >"$tmp/catch"
	chmod 755 "$tmp/catch"
	slurp /proc/sys/kernel/core_pattern pattern
	trap 'echo "$pattern" >/proc/sys/kernel/core_pattern' EXIT
	catch_cores "|$tmp/catch %e"
	for signal in SEGV ABRT ${E2E_FULL:+SEGV}; do
		[[ $signal != ABRT ]] || catch_cores "$tmp/core.%e"
		began=${EPOCHREALTIME/./}
		brokers
		before=" ${pids[*]} "
		kill "-$signal" "$broker"
		soon gone "$broker"
		soon runs
		times+=($(((${EPOCHREALTIME/./} - began) / 1000)))
		printf 'took %6d ms  until it is back\n' "${times[-1]}"
		((times[-1] < 30000)) || {
			tail -n 20 /var/log/benchmon/gatekeeperd.log
			fail 'it took several tries'
		}
		newest || fail 'nobody there'
	done
	((times[0] >= 900 && times[1] >= 1900 && ${times[2]-3900} >= 3900)) || fail "it is back after ${times[*]} ms"
	[[ -z $(compgen -G "$tmp/core.*") ]] || fail 'it left a core'
	grep -q '"event":"broker","grant":1,"what":"ended","why":"it was ended by signal 11"' "$state/ledger.jsonl" ||
		fail 'the ledger does not say how'
	bm exec e1 -- curl -sS http://model.broker/v1/plain
	did plain
	rm "$tmp/catch"
	bm destroy e1
	did
}

# In every form that it could have, wherever a Bench can look and whatever is kept of it.
case_nowhere() {
	local form forms=() plain=()
	while read -r form; do
		plain+=("$form")
		forms+=("$(printf %s "$form" | rev | tr -d '\n' | od -An -v -tx1 | tr -d ' \n')")
	done < <(PYTHONPATH=$repo/tests/broker python3 -B -S -s -c 'import sys, lab
print(*sorted({form.decode() for form in lab.forms(sys.argv[1]).values()}), sep="\n")' "$secret")
	[[ ${#forms[@]} -ge 8 ]] || fail 'no forms'
	# What is sought is found, where it is, and nowhere else.
	bm exec u1 -- bash -c 'base64 -d <<<"$1" >/work/planted' _ "$(base64 -w 0 <<<"$secret")"
	did
	inside u1 search "${forms[@]}"
	ended 1
	same 1 "$(grep -c '^text [0-9]* is in /work/planted$' <<<"$out")" 'how often it was found where it is'
	same 2 "$(wc -l <<<"$out")" 'what was said'
	printed 'looked at '
	bm exec u1 -- rm /work/planted
	did
	printf '%s\n' "${plain[@]}" >"$tmp/forms"
	! grep -rlFf "$tmp/forms" /var/lib/benchmon /var/log/benchmon /run/benchmon || fail 'it is on record'
	bm events --bench u1 --format json
	! grep -Ff "$tmp/forms" "$tmp/out" || fail 'it is in an event'
	grep -lFf "$tmp/forms" /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null >"$tmp/found" || :
	while read -r form; do
		[[ ${form#/proc/} == "$(<"$tmp/upstream")/"* || ! -e $form ]] || fail "it is in $form"
	done <"$tmp/found"
	rm "$tmp/forms" "$tmp/found"
}
