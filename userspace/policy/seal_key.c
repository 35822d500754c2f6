// SPDX-License-Identifier: GPL-2.0-only
/* The key that seals: made once, root's alone. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "policy/seal.h"

#define RULE "seal-key"
#define NEW_KEY BM_SEAL_KEY ".new"
#define REMEDY "remove it and seal all profiles again"

_Static_assert(crypto_sign_SECRETKEYBYTES == 64 && crypto_sign_PUBLICKEYBYTES == 32,
	       "the sizes that the header knows");

void bm_seal_key_done(struct bm_seal_key *key)
{
	sodium_memzero(key, sizeof(*key));
}

/* All of it is on disk before it has its name: half a key would lock out everything. */
static int make_key(int dir, struct bm_seal_key *key, struct bm_error *err)
{
	autoclose fd = -1;
	int r;

	if (unlinkat(dir, NEW_KEY, 0) < 0 && errno != ENOENT)
		return bm_fail_errno(err, errno, NEW_KEY);
	fd = openat(dir, NEW_KEY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return bm_fail_errno(err, errno, NEW_KEY);
	crypto_sign_keypair(key->public, key->secret);
	r = bm_write_all(fd, key->secret, sizeof(key->secret));
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	/* One that came there meanwhile stays. */
	if (r == 0 && renameat2(dir, NEW_KEY, dir, BM_SEAL_KEY, RENAME_NOREPLACE) < 0)
		r = -errno;
	if (r == 0 && fsync(dir) < 0)
		r = -errno;
	return r < 0 ? bm_fail_errno(err, -r, "write " BM_SEAL_KEY) : 0;
}

static int check_file(int fd, uid_t owner, struct bm_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, BM_SEAL_KEY);
	if (!S_ISREG(st.st_mode))
		return bm_fail(err, EPERM, RULE, REMEDY, BM_SEAL_KEY " is no regular file");
	if (st.st_uid && st.st_uid != owner)
		return bm_fail(err, EPERM, RULE, REMEDY, BM_SEAL_KEY " belongs to uid %u",
			       st.st_uid);
	if (st.st_mode & 077)
		return bm_fail(err, EPERM, RULE, REMEDY,
			       BM_SEAL_KEY " can be read by others (mode %04o)",
			       st.st_mode & 07777);
	return 0;
}

static int read_key(int fd, struct bm_seal_key *key, struct bm_error *err)
{
	unsigned char seed[crypto_sign_SEEDBYTES], again[crypto_sign_SECRETKEYBYTES], more;
	size_t got = 0;
	ssize_t n;

	do {
		n = read(fd, key->secret + got, sizeof(key->secret) - got);
		got += n > 0 ? (size_t)n : 0;
	} while (n > 0 && got < sizeof(key->secret));
	if (n < 0)
		return bm_fail_errno(err, errno, BM_SEAL_KEY);
	if (got == sizeof(key->secret) && read(fd, &more, 1) == 0) {
		crypto_sign_ed25519_sk_to_seed(seed, key->secret);
		crypto_sign_seed_keypair(key->public, again, seed);
		n = sodium_memcmp(again, key->secret, sizeof(again));
		sodium_memzero(seed, sizeof(seed));
		sodium_memzero(again, sizeof(again));
		if (n == 0)
			return 0;
	}
	return bm_fail(err, EBADMSG, RULE, REMEDY, BM_SEAL_KEY " holds no key of ours");
}

int bm_seal_key_open(int state_dir, uid_t owner, bool make, struct bm_seal_key *ret,
		     struct bm_error *err)
{
	autosealkey key = {};
	autoclose fd = -1;
	int r;

	if (sodium_init() < 0)
		return bm_fail_errno(err, ENOSYS, "libsodium");
	fd = openat(state_dir, BM_SEAL_KEY,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ELOOP)
		return bm_fail(err, EPERM, RULE, REMEDY, BM_SEAL_KEY " is a symbolic link");
	if (fd < 0 && errno == ENOENT && !make)
		return bm_fail(err, ENOENT, RULE, "`benchmon profile seal` makes one",
			       "there is no key yet: nothing has been sealed on this machine");
	if (fd < 0 && errno == ENOENT)
		r = make_key(state_dir, &key, err);
	else if (fd < 0)
		r = bm_fail_errno(err, errno, BM_SEAL_KEY);
	else
		r = check_file(fd, owner, err) ?: read_key(fd, &key, err);
	if (r < 0)
		return r;
	sodium_bin2hex(key.id, sizeof(key.id), key.public, sizeof(key.public));
	*ret = key;
	return 0;
}
