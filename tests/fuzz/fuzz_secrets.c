// SPDX-License-Identifier: GPL-2.0-only
/* No list of secrets, however it is written, makes everything one; and no path breaks a match. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/secrets.h"
#include "tests/fuzz/must.h"

static void use(const struct bm_secrets *s)
{
	MUST(s->pattern_count && s->pattern_count <= BM_SECRET_PATTERNS);
	MUST(s->mark_count <= BM_SECRET_MARKS);
	for (size_t i = 0; i < s->pattern_count; i++) {
		const struct bm_secret_pattern *p = &s->patterns[i];

		MUST(p->path[0] && strlen(p->path) < BM_SECRET_GLOB_LEN && p->why[0]);
		MUST(p->path[0] != '/' && p->path[strlen(p->path) - 1] != '/');
		MUST(!strstr(p->path, "//") && p->not_count <= BM_SECRET_NOTS);
	}
	for (size_t i = 0; i < s->mark_count; i++)
		MUST(strlen(s->marks[i].line) >= 8 && s->marks[i].why[0]);
	MUST(!bm_secret_by_head(s, "", 0));
	bm_secret_by_path(s, "/home/somebody/.ssh/id_rsa", false);
}

/* What a Bench, or anybody, can name a file. */
static void as_path(const struct bm_secrets *s, const uint8_t *data, size_t size)
{
	autofree char *path = malloc(size + 2);
	const char *by_path;

	path[0] = '/';
	memcpy(path + 1, data, size);
	path[size + 1] = '\0';
	by_path = bm_secret_by_path(s, path, false);
	MUST(by_path || !bm_secret_by_name(s, path, false));
	bm_secret_by_head(s, (const char *)data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char list[] =
		"{\"name\":\"secrets\",\"patterns\":[{\"path\":\"a*/[b-d]?/\",\"why\":\"w\"},"
		"{\"path\":\"id_*\",\"not\":[\"*.pub\"],\"why\":\"w\"}],"
		"\"marks\":[{\"line\":\"-----BEGIN *KEY*\",\"why\":\"w\"}]}";
	autosecrets secrets = { .mark_count = 7 }, fixed = {};
	struct bm_error err = {};
	int r = bm_secrets_parse((const char *)data, size, "fuzz", &secrets, &err);

	MUST(r == -err.code && (r == 0) == !err.message[0]);
	for (const char *p = err.message; *p; p++)
		MUST((unsigned char)*p >= 0x20 && *p != 0x7f);
	if (r == 0)
		use(&secrets);
	else
		MUST(secrets.mark_count == 7 && !secrets.patterns);
	MUST(bm_secrets_parse(list, strlen(list), "fixed", &fixed, NULL) == 0);
	as_path(&fixed, data, size);
	return 0;
}
