// SPDX-License-Identifier: GPL-2.0-only
/* Where a broker's definition and its credential come from. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/keyctl.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"
#include "gatekeeperd/broker.h"
#include "policy/profile.h"

#define RULE "broker-credential"
#define CREDENTIAL_MAX 4098
#define KEY_TYPE "user"
#define KEY_PREFIX "benchmon:"

/* --- definitions -------------------------------------------------------------------------------
 */

static int open_dir(int i, char path[PATH_MAX])
{
	return bm_definition_dir(i, BROKER_DIR, "profiles/brokers", path);
}

void broker_definition_done(struct broker_definition *definition)
{
	bm_broker_done(&definition->broker);
	json_object_put(definition->json);
	*definition = (struct broker_definition){};
}

static void digest_of(const char *text, size_t len, char ret[BROKER_DIGEST_LEN])
{
	uint8_t hash[BROKER_DIGEST_LEN / 2];

	crypto_generichash(hash, sizeof(hash), (const uint8_t *)text, len, NULL, 0);
	sodium_bin2hex(ret, BROKER_DIGEST_LEN, hash, sizeof(hash));
}

static int load(int dir, const char *name, struct broker_definition *ret, struct bm_error *err)
{
	char file[BM_BROKER_NAME_LEN + 8];
	autofree char *text = NULL;
	size_t len;
	int r;

	if (strlen(name) >= BM_BROKER_NAME_LEN || strchr(name, '/'))
		return -ENOENT;
	snprintf(file, sizeof(file), "%.32s.json", name);
	r = bm_definition_read(dir, "the directory of brokers", file, 0, BM_BROKER_MAX, &text, &len,
			       err);
	if (r < 0)
		return r;
	digest_of(text, len, ret->digest);
	r = bm_json_parse(text, len, file, &ret->json, err);
	return r < 0 ? r : bm_broker_from_json(ret->json, file, name, &ret->broker, err);
}

int broker_find(const char *name, struct broker_definition *ret, struct bm_error *err)
{
	autodefinition found = {};
	char path[PATH_MAX], remedy[128], shown[64];
	int r;

	for (int i = 0;; i++) {
		struct bm_error one = {};
		autoclose dir = open_dir(i, path);

		if (dir == -ENOENT)
			break;
		r = dir < 0 ? -ENOENT : load(dir, name, &found, &one);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return bm_fail(err, -r, one.rule, one.remedy, "%.180s/%.300s", path,
				       one.message);
		snprintf(found.file, sizeof(found.file), "%.4000s/%.32s.json", path, name);
		*ret = found;
		found = (struct broker_definition){};
		return 0;
	}
	bm_escape(name, shown, sizeof(shown));
	snprintf(remedy, sizeof(remedy),
		 "see `benchmon broker ls`, or write " BROKER_DIR "/NAME.json");
	return bm_fail(err, ENOENT, "broker", remedy, "there is no broker \"%s\"", shown);
}

void broker_each(void (*fn)(void *ctx, const char *name), void *ctx)
{
	char path[PATH_MAX], name[BM_BROKER_NAME_LEN];

	for (int i = 0;; i++) {
		int fd = open_dir(i, path);
		autoclosedir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
		struct dirent *entry;

		if (fd == -ENOENT)
			return;
		while (dir && (entry = readdir(dir))) {
			size_t len = strlen(entry->d_name);

			if (len <= 5 || len - 5 >= sizeof(name) ||
			    strcmp(entry->d_name + len - 5, ".json"))
				continue;
			snprintf(name, sizeof(name), "%.*s", (int)(len - 5), entry->d_name);
			/* Nor a schema. */
			if (!strchr(name, '.'))
				fn(ctx, name);
		}
	}
}

/* --- credentials ---------------------------------------------------------------------------------
 */

int broker_check_credential(int fd, const char *from, uid_t owner, struct bm_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, "%s", from);
	if (!S_ISREG(st.st_mode))
		return bm_fail(err, EPERM, RULE, "put the file itself there",
			       "%s is no regular file", from);
	if (st.st_uid != owner)
		return bm_fail(err, EPERM, RULE,
			       "chown it to root, and give another credential: "
			       "its owner may have read it",
			       "%s belongs to uid %u, not to root", from, st.st_uid);
	if (st.st_mode & 07177)
		return bm_fail(
			err, EPERM, RULE,
			"chmod 0600 it, and give another credential if anybody could read it",
			"%s has mode %04o, not 0600: others than root may read or write it", from,
			st.st_mode & 07777);
	if (!st.st_size)
		return bm_fail(err, ENODATA, RULE, "write it there", "%s is empty", from);
	if (st.st_size > CREDENTIAL_MAX)
		return bm_fail(err, EFBIG, RULE, NULL,
			       "%s is longer than any credential: %lld bytes", from,
			       (long long)st.st_size);
	return 0;
}

static int open_file(const char *path, int *ret_fd, struct bm_error *err)
{
	autoclose fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	int r;

	if (fd < 0 && errno == ELOOP)
		return bm_fail(err, EPERM, RULE, "put the file itself there",
			       "%s is a symbolic link", path);
	if (fd < 0)
		return bm_fail_errno(err, errno, "%s", path);
	r = broker_check_credential(fd, path, 0, err);
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}

/* As systemd puts it there: LoadCredential=NAME, or SetCredentialEncrypted= and its like. */
static int open_systemd(const char *name, int *ret_fd, char *from, struct bm_error *err)
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");

	if (!dir || *dir != '/')
		return -ENOENT;
	snprintf(from, PATH_MAX, "%.3900s/benchmon.%.32s", dir, name);
	return open_file(from, ret_fd, err);
}

/* What the kernel hands out, into memory that is a file. */
static int memory_of(const void *data, size_t len, int *ret_fd)
{
	autoclose fd = memfd_create("credential", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : bm_write_all(fd, data, len);

	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int open_key(const char *name, int *ret_fd, char *from, struct bm_error *err)
{
	char text[CREDENTIAL_MAX], what[sizeof(KEY_PREFIX) + BM_BROKER_NAME_LEN];
	long key, len;
	int r;

	snprintf(what, sizeof(what), KEY_PREFIX "%.32s", name);
	snprintf(from, PATH_MAX, "key \"%s\" of root's keyring", what);
	key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, KEY_TYPE, what, 0);
	if (key < 0)
		return errno == ENOKEY || errno == ENOSYS ? -ENOENT
							  : bm_fail_errno(err, errno, "%s", from);
	len = syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof(text));
	if (len < 0)
		return bm_fail_errno(err, errno, "%s", from);
	if (!len || (size_t)len > sizeof(text))
		return bm_fail(err, EFBIG, RULE, NULL, "%s has %ld bytes: no credential", from,
			       len);
	r = memory_of(text, (size_t)len, ret_fd);
	sodium_memzero(text, sizeof(text));
	return r < 0 ? bm_fail_errno(err, -r, "%s", from) : 0;
}

int broker_credential(const char *name, int *ret_fd, char *from, struct bm_error *err)
{
	struct bm_error none = {};
	int r;

	snprintf(from, PATH_MAX, CREDENTIAL_DIR "/%.32s", name);
	r = open_file(from, ret_fd, &none);
	if (r < 0 && r != -ENOENT && err)
		*err = none;
	if (r == -ENOENT)
		r = open_systemd(name, ret_fd, from, err);
	if (r == -ENOENT)
		r = open_key(name, ret_fd, from, err);
	if (r != -ENOENT)
		return r;
	return bm_fail(
		err, ENOENT, RULE,
		"write it to a file of root's with mode 0600 there, or give it to gatekeeperd "
		"by LoadCredential=, or `keyctl padd user benchmon:NAME @u`",
		"broker %.32s has no credential: " CREDENTIAL_DIR
		"/%.32s is not there, nor a systemd credential benchmon.%.32s, nor a key "
		"benchmon:%.32s",
		name, name, name, name);
}
