// SPDX-License-Identifier: GPL-2.0-only
#include "cli/limits.h"

#include <errno.h>
#include <string.h>

#include "cli/parse.h"
#include "cli/text.h"

/* "1.5" as thousandths. */
static int parse_cpus(const char *text, int64_t *ret, struct bm_error *err)
{
	char digits[8] = "";
	int64_t whole, part = 0;
	size_t len = strcspn(text, ".");
	char head[8];
	int r;

	snprintf(head, sizeof(head), "%.*s", (int)len, text);
	r = len < sizeof(head) ? cli_parse_number("--cpus", head, 0, 4096, &whole, err) : -EINVAL;
	if (r == 0 && text[len]) {
		snprintf(digits, sizeof(digits), "%.7s", text + len + 1);
		len = strlen(digits);
		r = len && len <= 3 ? cli_parse_number("--cpus", digits, 0, 999, &part, err)
				    : -EINVAL;
		for (; len < 3; len++)
			part *= 10;
	}
	*ret = r < 0 ? 0 : whole * 1000 + part;
	return *ret < 10 ? bm_fail(err, EINVAL, "limits", "give a number as 2, 1.5 or 0.25",
				   "--cpus %.40s is no number of CPUs from 0.01 to 4096", text)
			 : 0;
}

int cli_limits(struct cli *cli, struct json_object *request, struct bm_error *err)
{
	static const struct {
		enum cli_opt opt;
		const char *key;
		int (*parse)(const char *text, int64_t *ret, struct bm_error *err);
	} kinds[] = {
		{ OPT_MEMORY, "memory", cli_parse_size },
		{ OPT_PIDS, "pids", NULL },
		{ OPT_CPUS, "cpus", parse_cpus },
		{ OPT_DISK, "disk", cli_parse_size },
		{ OPT_TIMEOUT, "seconds", cli_parse_duration },
	};
	autojson *limits = NULL;
	int r = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *text = cli->args.value[kinds[i].opt];
		int64_t value = 0;

		if (!text)
			continue;
		r = kinds[i].parse ? kinds[i].parse(text, &value, err)
				   : cli_parse_number("--pids", text, 1, 4194304, &value, err);
		if (r < 0) {
			cli->failure = EXIT_USAGE;
			return r;
		}
		if (!limits)
			limits = json_object_new_object();
		bm_json_add_int(limits, kinds[i].key, value);
	}
	if (limits)
		bm_json_add(request, "limits", TAKE_PTR(limits));
	return 0;
}

void cli_limits_print(FILE *out, struct json_object *bench)
{
	static const char *const units[] = { "", "K", "M", "G", "T" };
	struct json_object *limits = bm_json_get(bench, "limits", json_type_object);
	const char *ends = bm_json_string(bench, "ends");
	char words[CLI_SHOWN] = "", shown[CLI_SHORT];
	size_t used = 0;
	int64_t value;

	if (!limits && !ends)
		return;
	for (int i = 0; i < 4; i++) {
		static const char *const keys[] = { "memory", "disk", "pids", "cpus" };
		size_t unit = 0;

		if (!limits || bm_json_int(limits, keys[i], &value) < 0)
			continue;
		while (i < 2 && value >= 1024 && value % 1024 == 0 && unit < 4) {
			value /= 1024;
			unit++;
		}
		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s ",
					 used ? ", " : "", keys[i]);
		used += (size_t)(i == 3 ? snprintf(words + used, sizeof(words) - used, "%.3g",
						   (double)value / 1000)
					: snprintf(words + used, sizeof(words) - used, "%lld%s",
						   (long long)value, units[unit]));
	}
	if (ends)
		snprintf(words + used, sizeof(words) - used, "%suntil %.19sZ", used ? ", " : "",
			 cli_show(ends, shown, sizeof(shown)));
	fprintf(out, "%-9s  ", "limits");
	cli_wrap(out, 11, words);
}
