// SPDX-License-Identifier: GPL-2.0-only
#include "policy/seal.h"

int bm_seal_key_open(int state_dir, uid_t owner, bool make, struct bm_key *ret,
		     struct bm_error *err)
{
	static const struct bm_key_file file = {
		.name = BM_SEAL_KEY,
		.rule = "seal-key",
		.remedy = "remove it and seal all profiles again",
		.none = "there is no key yet: nothing has been sealed on this machine",
		.none_remedy = "`benchmon profile seal` makes one",
	};

	return bm_key_open(state_dir, &file, owner, make, ret, NULL, err);
}
