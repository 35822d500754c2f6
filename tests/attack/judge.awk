# Reads `results` (ID STATUS START END of each probe that ran), `events` (JSON lines) and the table,
# and says of each case of `group` whether all three held: denied, recorded, works where granted.
BEGIN {
	FS = "[ \t]*\\|[ \t]*"
	split("EPERM=1 ENOENT=2 EACCES=13 EBUSY=16 EXDEV=18 EINVAL=22 EROFS=30 ENOSYS=38 " \
	      "EAFNOSUPPORT=97 ENETUNREACH=101 ETIMEDOUT=110 ECONNREFUSED=111 SETUP=200 SIGKILL=202", names, " ")
	for (i in names) {
		split(names[i], pair, "=")
		errno[pair[1]] = pair[2]
		name_of[pair[2]] = pair[1]
	}
	name_of[0] = "worked"
	while ((getline line < results) > 0) {
		split(line, word, " ")
		status[word[1]] = word[2]
		from[word[1]] = word[3]
		to[word[1]] = word[4]
	}
	while ((getline line < events) > 0)
		if (line ~ /"verdict":"deny"/) {
			time[++count] = text(line, "time")
			hook[count] = text(line, "hook")
			rule[count] = text(line, "rule")
			object[count] = text(line, "path") text(line, "destination") text(line, "what")
		}
}
/^[ \t]*(#|$)/ || $1 != group || newer($2) { next }
{ judge() }

function text(json, key,    at, rest) {
	at = index(json, "\"" key "\":\"")
	if (!at)
		return ""
	rest = substr(json, at + length(key) + 4)
	return substr(rest, 1, index(rest, "\"") - 1)
}

function shown(id) {
	return !(id in status) ? "did not run" : status[id] in name_of ? name_of[status[id]] : status[id]
}

function ends(string, tail) {
	return substr(string, length(string) - length(tail) + 1) == tail
}

# "#" stands for a name that the kernel made up.
function matches(i, id, want, name) {
	if (time[i] < from[id] || time[i] > to[id] || hook[i] != want[1] || rule[i] != want[2])
		return 0
	return want[3] == "-" || (want[3] == "#" && object[i] != "") || ends(object[i], want[3])
}

function recorded(id, wanted,    want, i, name) {
	while (match(wanted, /@[A-Z0-9]+@/)) {
		name = substr(wanted, RSTART + 1, RLENGTH - 2)
		wanted = substr(wanted, 1, RSTART - 1) ENVIRON[name] substr(wanted, RSTART + RLENGTH)
	}
	if (split(wanted, want, /[ \t]+/) != 3)
		return "the table wants an event " wanted
	for (i = 1; i <= count; i++)
		if (matches(i, id, want))
			return ""
	return "no event " want[1] " " want[2] " " want[3] " but" seen(id)
}

function seen(id,    i, all) {
	for (i = 1; i <= count; i++)
		if (time[i] >= from[id] && time[i] <= to[id])
			all = all " " hook[i] "/" rule[i] "/" object[i]
	return all == "" ? " none" : all
}

function judge(    d, c, bad, missing) {
	d = "d" NR
	c = "c" NR
	if ($3 != "-") {
		if (!(d in status) || !($4 in errno) || status[d] != errno[$4])
			bad = "; not " $4 ": " shown(d)
		missing = $5 == "-" ? "" : recorded(d, $5)
		if (missing != "")
			bad = bad "; " missing
	}
	if (!(c in status) || status[c] != 0)
		bad = bad "; where granted: " shown(c)
	printf "%-6s %-7s %-18s %s\n", bad == "" ? "ok" : "FAILED", group, $2, \
		bad == "" ? good() : substr(bad, 3)
}

function good(    what) {
	if ($3 == "-")
		return "allowed"
	what = $5
	gsub(/[ \t]+/, " ", what)
	return $4 ", " ($5 == "-" ? "by the kernel itself" : what) ", works where granted"
}

# CASE@VERSION: the kernel has it since then.
function newer(name,    want, have) {
	if (split(name, want, "@") < 2)
		return 0
	split(want[2], want, ".")
	split(ENVIRON["KERNEL"], have, ".")
	return have[1] + 0 < want[1] + 0 || (have[1] == want[1] && have[2] + 0 < want[2] + 0)
}
