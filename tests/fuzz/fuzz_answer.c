// SPDX-License-Identifier: GPL-2.0-only
/* Whatever a DNS server sends: no more addresses than there is room for, and none from beyond it.
 */
#include <arpa/nameser.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "network/resolve.h"
#include "tests/fuzz/must.h"

static bool contains(const uint8_t *data, size_t size, const uint8_t *what, size_t len)
{
	return memmem(data, size, what, len) != NULL;
}

static void parse(const uint8_t *data, size_t size, int type)
{
	static const uint8_t v4[12] = { [10] = 0xff, 0xff };
	struct bm_resolved *r = calloc(1, sizeof(*r));
	int result;

	MUST(r);
	memcpy(r->host, "a.test", 7);
	result = bm_resolve_parse(data, size, type, r);
	MUST(result == 0 || result == -EBADMSG || result == -E2BIG);
	MUST(r->count <= BM_RESOLVE_ADDRESSES && !strcmp(r->host, "a.test"));
	for (size_t i = 0; i < r->count; i++) {
		const uint8_t *address = r->addresses[i].address;

		if (type == ns_t_a)
			MUST(!memcmp(address, v4, 12) && contains(data, size, address + 12, 4));
		else
			MUST(contains(data, size, address, 16));
	}
	free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse(data, size, ns_t_a);
	parse(data, size, ns_t_aaaa);
	return 0;
}
