// SPDX-License-Identifier: GPL-2.0-only
/* Configuration of an image, whatever is in it: hosts that can be resolved, and text that can be
 * shown. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/discover.h"
#include "tests/fuzz/must.h"

static void check(const struct bm_discovery *d)
{
	MUST(d->count <= BM_FOUND_MAX && d->left_count <= BM_LEFT_MAX);
	MUST(d->list_count <= BM_LISTS_MAX && d->proxy_count <= BM_PROXIES_MAX);
	for (size_t i = 0; i < d->count; i++) {
		char host[BM_HOSTNAME_LEN];

		MUST(d->found[i].port && !strcmp(d->found[i].file, "/f"));
		MUST(bm_hostname_parse(d->found[i].host, strlen(d->found[i].host), host, NULL) ==
		     0);
		MUST(!strcmp(host, d->found[i].host));
	}
	for (size_t i = 0; i < d->left_count; i++)
		for (const char *p = d->left[i]; *p; p++)
			MUST((unsigned char)*p >= 0x20 && *p != 0x7f);
	for (size_t i = 0; i < d->list_count; i++)
		MUST(d->lists[i][0] == '/' && d->lists[i][1] != '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bm_discovery *d = calloc(1, sizeof(*d));
	autofree char *text = malloc(size + 1);

	MUST(d && text);
	if (!size) {
		free(d);
		return 0;
	}
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 8) {
	case 0:
		bm_discover_apt_list(text, "/f", d);
		break;
	case 1:
		bm_discover_apt_sources(text, "/f", d);
		break;
	case 2:
		bm_discover_apt_mirrors(text, "/f", d);
		break;
	case 3:
		bm_discover_npmrc(text, "/f", true, d);
		break;
	case 4:
		bm_discover_npm_default(text, "/f", d);
		break;
	case 5:
		bm_discover_pip_conf(text, "/f", "extra-index-url", d);
		break;
	case 6:
		/* Of whatever it says of these two. */
		bm_discover_apt_conf(text, "/f", d);
		bm_discover_apt_list("deb http://a.test/ x\ndeb https://b.test/ x\n", "/f", d);
		break;
	default:
		bm_discover_pip_default(text, "/f", true, d);
	}
	check(d);
	free(d);
	return 0;
}
