# Reads `results` (ID STATUS START END of each probe that ran), `events` (JSON lines) and the table,
# and says of each case of `group` whether all three held: denied, recorded, works where granted.
BEGIN {
	FS = "[ \t]*\\|[ \t]*"
	split("ENOKEY=126 EPERM=1 ENOENT=2 ESRCH=3 EACCES=13 EBUSY=16 EXDEV=18 EINVAL=22 EROFS=30 ENOSYS=38 " \
	      "EPROTOTYPE=91 EPROTONOSUPPORT=93 EAFNOSUPPORT=97 ENETUNREACH=101 ETIMEDOUT=110 ECONNREFUSED=111 " \
	      "silent=0 SETUP=200 SIGKILL=202", names, " ")
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

# The stages of a line, of which some stand for several.
function stages_of(what, list) {
	sub(/ .*/, "", what)
	if (what == "walled")
		return split("rootless rootful privileged", list, " ")
	if (what == "rooted")
		return split("rootful privileged", list, " ")
	return split(what, list, " ")
}

# Of a column that has a part for each stage, or one for all.
function part(column, i,    parts) {
	return split(column, parts, / +\/ +/) > 1 ? parts[i] : column
}

# What is wrong with the denial at one stage.
function wrong(id, want, event,    bad, missing) {
	if (!(id in status) || !(want in errno) || status[id] != errno[want])
		bad = "; not " want ": " shown(id)
	missing = event == "-" ? "" : recorded(id, event)
	return bad (missing == "" ? "" : "; " missing)
}

function denied(stages, count,    i, bad, all, id) {
	for (i = 1; i <= count; i++) {
		id = "d" NR (count > 1 ? stages[i] : "")
		bad = wrong(id, part($4, i), part($5, i))
		if (bad != "")
			all = all "; " (count > 1 ? stages[i] ": " : "") substr(bad, 3)
	}
	return all
}

function works(    stages, count, i, id, all) {
	count = stages_of($6, stages)
	for (i = 1; i <= count; i++) {
		id = "c" NR (count > 1 ? stages[i] : "")
		if (!(id in status) || status[id] != 0)
			all = all "; where granted: " (count > 1 ? stages[i] ": " : "") shown(id)
	}
	return all
}

function judge(    stages, bad) {
	if ($3 != "-")
		bad = denied(stages, stages_of($3, stages))
	bad = bad works()
	printf "%-6s %-7s %-18s %s\n", bad == "" ? "ok" : "FAILED", group, $2, \
		bad == "" ? good() : substr(bad, 3)
}

# Which shape of a Bench, where the stage is one: join.awk makes a table of it.
function shape(stage) {
	return stage ~ /^(rootless|rootful|privileged)$/ ? stage " " : ""
}

function good(    stages, count, i, what, event) {
	count = stages_of($3 == "-" ? $6 : $3, stages)
	for (i = 1; i <= count; i++) {
		event = part($5, i)
		gsub(/[ \t]+/, " ", event)
		what = what (i > 1 ? "; " : "") shape(stages[i]) ($3 == "-" ? "allowed" : part($4, i) ", " \
			(event == "-" ? "by the kernel itself" : event))
	}
	return what ($3 == "-" ? "" : "; works where granted")
}

# CASE@VERSION: the kernel has it since then.
function newer(name,    want, have) {
	if (split(name, want, "@") < 2)
		return 0
	split(want[2], want, ".")
	split(ENVIRON["KERNEL"], have, ".")
	return have[1] + 0 < want[1] + 0 || (have[1] == want[1] && have[2] + 0 < want[2] + 0)
}
