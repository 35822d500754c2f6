// SPDX-License-Identifier: GPL-2.0-only
#include "keys/key.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"

#define NAME_LEN 64

_Static_assert(crypto_sign_SECRETKEYBYTES == 64 && crypto_sign_PUBLICKEYBYTES == 32,
	       "the sizes that the header knows");

void bm_key_done(struct bm_key *key)
{
	sodium_memzero(key, sizeof(*key));
}

/* All of it is on disk before it has its name: half a key would lock out everything. */
static int make_key(int dir, const char *name, struct bm_key *key, struct bm_error *err)
{
	char fresh[NAME_LEN];
	autoclose fd = -1;
	int r;

	snprintf(fresh, sizeof(fresh), "%s.new", name);
	if (unlinkat(dir, fresh, 0) < 0 && errno != ENOENT)
		return bm_fail_errno(err, errno, "%s", fresh);
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return bm_fail_errno(err, errno, "%s", fresh);
	crypto_sign_keypair(key->public, key->secret);
	r = bm_write_all(fd, key->secret, sizeof(key->secret));
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	/* One that came there meanwhile stays. */
	if (r == 0 && renameat2(dir, fresh, dir, name, RENAME_NOREPLACE) < 0)
		r = -errno;
	if (r == 0 && fsync(dir) < 0)
		r = -errno;
	return r < 0 ? bm_fail_errno(err, -r, "write %s", name) : 0;
}

static int check_file(int fd, const struct bm_key_file *file, uid_t owner, struct bm_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, "%s", file->name);
	if (!S_ISREG(st.st_mode))
		return bm_fail(err, EPERM, file->rule, file->remedy, "%s is no regular file",
			       file->name);
	if (st.st_uid && st.st_uid != owner)
		return bm_fail(err, EPERM, file->rule, file->remedy, "%s belongs to uid %u",
			       file->name, st.st_uid);
	if (st.st_mode & 077)
		return bm_fail(err, EPERM, file->rule, file->remedy,
			       "%s can be read by others (mode %04o)", file->name,
			       st.st_mode & 07777);
	return 0;
}

static int read_key(int fd, const struct bm_key_file *file, struct bm_key *key,
		    struct bm_error *err)
{
	unsigned char seed[crypto_sign_SEEDBYTES], again[crypto_sign_SECRETKEYBYTES], more;
	size_t got = 0;
	ssize_t n;

	do {
		n = read(fd, key->secret + got, sizeof(key->secret) - got);
		got += n > 0 ? (size_t)n : 0;
	} while (n > 0 && got < sizeof(key->secret));
	if (n < 0)
		return bm_fail_errno(err, errno, "%s", file->name);
	if (got == sizeof(key->secret) && read(fd, &more, 1) == 0) {
		crypto_sign_ed25519_sk_to_seed(seed, key->secret);
		crypto_sign_seed_keypair(key->public, again, seed);
		n = sodium_memcmp(again, key->secret, sizeof(again));
		sodium_memzero(seed, sizeof(seed));
		sodium_memzero(again, sizeof(again));
		if (n == 0)
			return 0;
	}
	return bm_fail(err, EBADMSG, file->rule, file->remedy, "%s holds no key of ours",
		       file->name);
}

int bm_key_open(int dir, const struct bm_key_file *file, uid_t owner, bool make, struct bm_key *ret,
		bool *ret_made, struct bm_error *err)
{
	bool made = false;
	autokey key = {};
	autoclose fd = -1;
	int r;

	if (sodium_init() < 0)
		return bm_fail_errno(err, ENOSYS, "libsodium");
	fd = openat(dir, file->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ELOOP)
		return bm_fail(err, EPERM, file->rule, file->remedy, "%s is a symbolic link",
			       file->name);
	if (fd < 0 && errno == ENOENT && !make)
		return bm_fail(err, ENOENT, file->rule, file->none_remedy, "%s", file->none);
	made = fd < 0 && errno == ENOENT;
	if (made)
		r = make_key(dir, file->name, &key, err);
	else if (fd < 0)
		r = bm_fail_errno(err, errno, "%s", file->name);
	else
		r = check_file(fd, file, owner, err) ?: read_key(fd, file, &key, err);
	if (r < 0)
		return r;
	sodium_bin2hex(key.id, sizeof(key.id), key.public, sizeof(key.public));
	*ret = key;
	if (ret_made)
		*ret_made = made;
	return 0;
}
